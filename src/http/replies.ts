import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { Logger } from '../base/logger.ts'
import { truncateText } from '../base/text.ts'
import type { ErrorReply } from '../protocol/api.ts'
import { type ErrorCode, errorStatus, FamiliarError } from '../protocol/errors.ts'
import { givenKey, wirePath } from '../protocol/operation.ts'
import type { HttpContext } from './dependencies.ts'

export function wantsEvents(context: HttpContext): boolean {
  return context.req.header('accept')?.includes('text/event-stream') ?? false
}

const maxIssues = 3
const maxNameLength = 60

/** The validation problems by key: `session: Too long; unknown key "mesage"`. */
export function describeRequestIssues(
  error: z.ZodError,
  where: 'body' | 'query' | 'arguments',
  /** The schema, for the names on the wire. */
  schema?: z.ZodType,
): string {
  return error.issues
    .slice(0, maxIssues)
    .map((issue) => describeIssue(issue, where, schema ? wirePath(schema, issue.path) : issue.path))
    .join('; ')
}

function describeIssue(issue: z.core.$ZodIssue, where: string, named: readonly PropertyKey[]): string {
  const path = named.map((part) => truncateText(String(part), maxNameLength)).join('.') || where
  if (issue.code !== 'unrecognized_keys') return `${path}: ${issue.message}`
  const keys = issue.keys.slice(0, maxIssues).map((key) => JSON.stringify(truncateText(givenKey(key), maxNameLength)))
  return `${path}: unknown key ${keys.join(', ')}`
}

/** Sent with every response. Only the page's own files have a CORS header: no other origin may read responses. */
export const commonHeaders = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

const jsonHeaders = { ...commonHeaders, 'content-type': 'application/json; charset=utf-8' }

export function jsonReply(
  body: object,
  options: { status?: number; headers?: Record<string, string> | undefined } = {},
): Response {
  const headers = options.headers ? { ...jsonHeaders, ...options.headers } : jsonHeaders
  return new Response(JSON.stringify(body), { status: options.status ?? 200, headers })
}

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
 * The error for the caller. Only a FamiliarError is shown with its message; any other error goes to the log, and the
 * caller gets an id to find it there: the id of the request if there is one.
 */
export function describeError(
  cause: unknown,
  logger: Logger,
  requestId: string = randomUUID(),
): FamiliarError & { requestId?: string } {
  if (cause instanceof FamiliarError && cause.code !== 'internal') return cause
  logger.error('a request failed', { request: requestId, error: cause })
  const shown = new FamiliarError('internal', `Internal error. The log has details under ${requestId}.`)
  return Object.assign(shown, { requestId })
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

/** The value. Throws `not_found` if there is none. */
export function orNotFound<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new FamiliarError('not_found', message)
  return value
}

/** A name that a caller gave, for a message. */
export function quotedName(name: string): string {
  return JSON.stringify(name.slice(0, 200))
}

export function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
