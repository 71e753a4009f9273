import type { MiddlewareHandler } from 'hono'
import { parseJson } from '../../../base/json.ts'
import { type ErrorReply, errorReplySchema } from '../../../protocol/api.ts'
import { type ErrorCode, errorStatus, type FamiliarError } from '../../../protocol/error.ts'
import type { OpenAiErrorReply } from '../../../protocol/openai-api.ts'
import type { HttpEnv } from '../http-dependencies.ts'

/** Every path whose answers are OpenAI's, also those that do not exist. */
export const openAiPaths = '/v1/*'

const types: Readonly<Partial<Record<number, string>>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
}

/** What a client that tries again by itself would only fail at again: the loop has tried often enough before it gave up. */
const finalCodes: ReadonlySet<string> = new Set<ErrorCode>([
  'conflict',
  'provider_error',
  'provider_timeout',
  'internal',
])

/** Stands before all guards: whoever refuses, the refusal leaves in the shape that OpenAI's clients know. */
export const openAiErrors: MiddlewareHandler<HttpEnv> = async (context, next) => {
  await next()
  const { res: response } = context
  if (response.status < 400 || !response.headers.get('content-type')?.startsWith('application/json')) return
  const told = parseJson(await response.text(), errorReplySchema)
  const reply = told.ok ? told.value : { error: 'The request failed.', code: 'internal' }
  const headers = new Headers(response.headers)
  if (finalCodes.has(reply.code)) headers.set('x-should-retry', 'false')
  context.res = undefined
  context.res = new Response(JSON.stringify(openAiError(reply, response.status)), { status: response.status, headers })
}

/** The same for what goes wrong when an answer has begun. */
export function toOpenAiError({ code, message, requestId }: FamiliarError & { requestId?: string }): OpenAiErrorReply {
  return openAiError({ error: message, code, ...(requestId && { request_id: requestId }) }, errorStatus[code])
}

function openAiError({ error: message, ...more }: ErrorReply, status: number): OpenAiErrorReply {
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
  const param = status === 400 || status === 404 ? (/^([A-Za-z_][\w.-]*): /.exec(message)?.[1] ?? null) : null
  return { error: { message, type, param, ...more } }
}
