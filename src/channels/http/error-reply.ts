import { randomUUID } from 'node:crypto'
import type { Logger } from '../../base/logger.ts'
import type { ErrorReply } from '../../protocol/api.ts'
import { type ErrorCode, errorStatus, FamiliarError } from '../../protocol/error.ts'
import { jsonReply } from './json-reply.ts'

type Details = Omit<ErrorReply, 'error' | 'code'>

/** The one shape of every refusal. */
export function errorReply(
  code: ErrorCode,
  error: string,
  options: { details?: Details; headers?: Record<string, string> } = {},
): Response {
  const headers = code === 'unauthorized' ? { 'www-authenticate': 'Bearer', ...options.headers } : options.headers
  return jsonReply({ error, code, ...options.details } satisfies ErrorReply, { status: errorStatus[code], headers })
}

/**
 * What a caller is told of an error. Only a FamiliarError speaks for itself; whatever else went wrong is for the log,
 * and the caller gets a number to look for there: the request's own where it has one.
 */
export function describeError(
  cause: unknown,
  logger: Logger,
  requestId: string = randomUUID(),
): FamiliarError & { requestId?: string } {
  if (cause instanceof FamiliarError && cause.code !== 'internal') return cause
  logger.error('a request failed', { request: requestId, error: cause })
  const told = new FamiliarError('internal', `Something went wrong inside. The log has it under ${requestId}.`)
  return Object.assign(told, { requestId })
}

export function errorReplyFor(cause: unknown, logger: Logger, ownId?: string): Response {
  const { code, message, retryAfterSeconds, requestId } = describeError(cause, logger, ownId)
  return errorReply(code, message, {
    ...(requestId && { details: { request_id: requestId } }),
    ...(retryAfterSeconds !== undefined && {
      headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))) },
    }),
  })
}
