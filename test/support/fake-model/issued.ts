/** An output item of the Responses API as a later request may refer to it. */
export interface IssuedItem {
  type: 'reasoning' | 'message' | 'function_call'
  stored: boolean
  /** The reasoning item of the same response, which has to be replayed before this one. */
  reasoningId?: string
}

/** Everything opaque that this server has issued and a provider would recognize when it comes back. */
export interface Issued {
  /** Signature to the thinking texts it was issued for. */
  thinking: Map<string, Set<string>>
  redactedThinking: Set<string>
  /** Ids of tool calls that followed thinking in their message. */
  toolCallsAfterThinking: Set<string>
  items: Map<string, IssuedItem>
  responses: Set<string>
}

export function createIssued(): Issued {
  return {
    thinking: new Map(),
    redactedThinking: new Set(),
    toolCallsAfterThinking: new Set(),
    items: new Map(),
    responses: new Set(),
  }
}

export function issueThinking(issued: Issued, thinking: { text: string; signature: string }): void {
  const texts = issued.thinking.get(thinking.signature) ?? new Set()
  issued.thinking.set(thinking.signature, texts.add(thinking.text))
}
