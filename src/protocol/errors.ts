/** Every code that can reach a user, with the HTTP status that carries it. */
export const errorStatus = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
  provider_error: 502,
  unavailable: 503,
  storage_full: 503,
  provider_timeout: 504,
} as const

export type ErrorCode = keyof typeof errorStatus

/** A failure with a code that callers can act on and a message that users can read. */
export class FamiliarError extends Error {
  readonly code: ErrorCode
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'FamiliarError'
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}
