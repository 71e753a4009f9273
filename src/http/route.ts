import type { z } from 'zod'
import { parseAnyJson } from '../base/json.ts'
import { FamiliarError } from '../protocol/errors.ts'
import {
  emptySchema,
  fromWire,
  type Operation,
  type PathParameters,
  toWire,
  type Value,
} from '../protocol/operation.ts'
import type { HttpContext } from './dependencies.ts'
import { callerOf, hasBody, readLimitedText } from './guards.ts'
import { describeRequestIssues, jsonReply } from './replies.ts'

/** An operation with its handler. */
export interface Route extends Operation {
  auth: NonNullable<Operation['auth']>
  status: NonNullable<Operation['status']>
  /** The size limit of a raw body. */
  maxBytes?: number
  respond(request: { context: HttpContext; query: unknown; body: unknown }): Promise<Response>
}

/** The validated input of a handler. A handler reads nothing else of the request except headers and a raw body. */
export interface Asked<Of extends Operation> {
  /** The caller. */
  userId: string
  params: PathParameters<Of['path']>
  query: Of['query'] extends z.ZodType ? z.output<Of['query']> : undefined
  body: Of['body'] extends z.ZodType ? z.output<Of['body']> : undefined
  /** Aborts when the caller has disconnected. */
  signal: AbortSignal
  context: HttpContext
}

/** The reply of an operation as a value of the program, or a `Response` if it is not JSON. */
export type HandlerReply<Of extends Operation> = Of['reply'] extends z.ZodType
  ? Value<Of['reply']> | Response
  : Response

/** Binds a handler to an operation. The value that it returns is converted to the wire only here. */
export function handle<const Of extends Operation>(
  operation: Of,
  handler: (asked: Asked<Of>) => HandlerReply<Of> | Promise<HandlerReply<Of>>,
  more: { maxBytes?: number } = {},
): Route {
  return {
    auth: 'token',
    status: 200,
    ...operation,
    ...more,
    async respond({ context, query, body }) {
      const asked = {
        // A getter, because some operations have no caller.
        get userId() {
          return callerOf(context).userId
        },
        params: context.req.param(),
        signal: context.req.raw.signal,
        query,
        body,
        context,
      }
      const reply = await handler(asked as Asked<Of>)
      if (reply instanceof Response) return reply
      const written = operation.reply ? toWire(operation.reply, reply) : reply
      return jsonReply(written as object, { status: operation.status ?? 200 })
    },
  }
}

/** Validates the query and the body, and runs the handler. */
export async function answer(route: Route, context: HttpContext, maxBodyBytes: number): Promise<Response> {
  const query = checked(route.query ?? emptySchema, context.req.query(), 'query')
  const body = await readBody(route, context, maxBodyBytes)
  if (!route.rawBody) context.get('onBodyRead')?.()
  return route.respond({ context, body, query })
}

async function readBody(route: Route, context: HttpContext, maxBodyBytes: number): Promise<unknown> {
  if (route.rawBody) return undefined
  if (!hasBody(context)) return route.body && checked(route.body, {}, 'body')
  if (!route.body) throw new FamiliarError('bad_request', 'This route does not accept a body')
  const parsed = parseAnyJson(await readLimitedText(context, maxBodyBytes))
  if (!parsed.ok) throw new FamiliarError('bad_request', `The body is not JSON: ${parsed.message}`)
  return checked(route.body, parsed.value, 'body')
}

function checked<T>(schema: z.ZodType<T>, value: unknown, where: 'body' | 'query'): T {
  const result = schema.safeParse(fromWire(schema, value))
  if (result.success) return result.data
  throw new FamiliarError('bad_request', describeRequestIssues(result.error, where, schema))
}
