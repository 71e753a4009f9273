/** A webhook as it came: headers and body, nothing of it believed yet. */
export interface WebhookCall {
  tool: string
  timestamp: string | undefined
  nonce: string | undefined
  signature: string | undefined
  body: Uint8Array
}

/** Who takes webhooks. */
export interface Webhooks {
  /**
   * Whether the sender knows the secret of a tool that takes webhooks. False tells nothing more: not whether there is
   * such a tool. A sender that does know it, but whose timestamp is off, is thrown an `unauthorized` that says so.
   */
  isSigned(call: WebhookCall): Promise<boolean>
  /**
   * For a call that is signed: its run is written down for good when this resolves. A `conflict` for a nonce that was
   * used before, `rate_limited` for one call too many; nothing is written then.
   */
  accept(call: WebhookCall): Promise<{ runId: string }>
}
