export type EgressErrorCode =
  | 'blocked_url'
  | 'blocked_host'
  | 'blocked_address'
  | 'too_many_redirects'
  | 'body_not_replayable'
  | 'too_large'
  | 'timeout'

/** Why the guard refused a request or gave up on it. Nothing was sent where the code starts with `blocked`. */
export class EgressError extends Error {
  readonly code: EgressErrorCode

  constructor(code: EgressErrorCode, message: string) {
    super(message)
    this.name = 'EgressError'
    this.code = code
  }
}
