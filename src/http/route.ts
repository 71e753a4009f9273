import type { z } from 'zod'
import { parseAnyJson } from '../base/json.ts'
import { emptyRequestSchema } from '../protocol/api.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { fromWire, type Operation, type PathParameters, toWire, type Value } from '../protocol/operation.ts'
import type { HttpContext } from './dependencies.ts'
import { callerOf, hasBody, readLimitedText } from './guards.ts'
import { describeRequestIssues, jsonReply } from './replies.ts'

/** An operation with what answers it. */
export interface Route extends Operation {
  auth: NonNullable<Operation['auth']>
  status: NonNullable<Operation['status']>
  /** With `rawBody`: the most that it may be. */
  maxBytes?: number
  respond(request: { context: HttpContext; query: unknown; body: unknown }): Promise<Response>
}

/** The validated input of a handler. A handler reads nothing else of the request except headers and a raw body. */
interface Asked<Of extends Operation> {
  /** The caller. */
  userId: string
  params: PathParameters<Of['path']>
  query: Of['query'] extends z.ZodType ? z.output<Of['query']> : undefined
  body: Of['body'] extends z.ZodType ? z.output<Of['body']> : undefined
  /** Ends when the caller has gone. */
  signal: AbortSignal
  context: HttpContext
}

/** The value that an operation replies with, as the program has it; a `Response` where it is something else than JSON. */
export type HandlerReply<Of extends Operation> = Of['reply'] extends z.ZodType
  ? Value<Of['reply']> | Response
  : Response

/** Binds one handler to an operation. The value that it returns is written to the wire here, and nowhere else. */
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
        // Read when it is asked for: some operations have no caller.
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
      return reply instanceof Response ? reply : replyTo(operation, reply)
    },
  }
}

/** The value on the wire. */
function replyTo(operation: Operation, value: unknown): Response {
  const body = operation.reply ? toWire(operation.reply, value) : value
  return jsonReply(body as object, { status: operation.status ?? 200 })
}

/** Reads and checks what the route takes, and answers. The body is parsed once, here. */
export async function answer(route: Route, context: HttpContext, maxBodyBytes: number): Promise<Response> {
  const query = checked(route.query ?? emptyRequestSchema, context.req.query(), 'query')
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
