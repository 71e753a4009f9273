export type ModelErrorCode = 'aborted' | 'rate_limited' | 'overloaded' | 'unreachable' | 'cut' | 'rejected' | 'timeout'

/** Why a call to a model gave no response. `retryable` follows the status alone; the caller decides how often. */
export class ModelError extends Error {
  readonly code: ModelErrorCode
  readonly retryable: boolean
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined

  constructor(
    code: ModelErrorCode,
    message: string,
    options: { retryable: boolean; status?: number | undefined; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.name = 'ModelError'
    this.code = code
    this.retryable = options.retryable
    this.status = options.status
    this.retryAfterMs = options.retryAfterMs
  }
}
