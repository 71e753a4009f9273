import type { JsonObject } from './json.ts'
import type { Rejection } from './wire.ts'

const ERROR_TYPES: Record<number, string> = { 429: 'rate_limit_error', 529: 'overloaded_error' }
const ERROR_CODES: Record<number, string> = { 401: 'invalid_api_key', 429: 'rate_limit_exceeded' }

/** The error body that both OpenAI wires share. */
export function openaiError({ status, message, param, code }: Rejection): JsonObject {
  const type = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
  return { error: { message, type, param: param ?? null, code: code ?? ERROR_CODES[status] ?? null } }
}

export const MISSING_OPENAI_KEY: Rejection = {
  status: 401,
  message:
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth.",
}
