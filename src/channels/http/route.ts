import type { z } from 'zod'
import { parseAnyJson } from '../../base/json.ts'
import type { TokenScope } from '../../policy/access-tokens.ts'
import type { LinkPurpose } from '../../policy/one-time-links.ts'
import { emptyRequestSchema } from '../../protocol/api.ts'
import { FamiliarError } from '../../protocol/error.ts'
import { describeIssues } from './describe-issues.ts'
import { readLimitedText } from './guards/body-size-guard.ts'
import { hasBody } from './guards/content-type-guard.ts'
import type { HttpContext } from './http-dependencies.ts'

/** What a handler is given: checked, and nothing else of the request is to be read by it but headers and a raw body. */
interface RouteRequest<Body = unknown, Query = unknown> {
  context: HttpContext
  body: Body
  query: Query
}

/** One line of the API: enough to answer it, to describe it and to test it. */
export interface Route<Body = unknown, Query = unknown> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  summary: string
  /**
   * `optional`: answers without a token too, with less. `signature`: the body is signed, and no token is needed. `link`: a
   * link of one use stands in the path as `:token`, and says who it is from.
   */
  auth: 'token' | 'optional' | 'signature' | 'link'
  /** With `link`: what such a link must have been made for. */
  link?: LinkPurpose
  /** What a token must allow. */
  scope: TokenScope
  /** It shows or changes what is everybody's: only for the owner of this home, whatever another user's token allows. */
  isOwners?: true
  /** Only the command line of this machine may call it, with the credential in the home. */
  isLocal?: true
  /** The schema of the body; a route without one takes none. */
  body?: z.ZodType<Body>
  query?: z.ZodType<Query>
  /** Files may come in the body, which may be larger for it. */
  attachments?: boolean
  /**
   * In place of a body of JSON: one of these types, which the handler reads itself, and of this size at most. `isSpooled`:
   * it goes to the disk as it comes, and is never held whole.
   */
  rawBody?: { mediaTypes: readonly string[]; maxBytes: number; isSpooled?: true }
  /**
   * What comes back when all is well; `events` is a stream, `mediaTypes` are those of an answer that is no JSON. With
   * `showsSecret` it is to show one, this once: the one kind of answer that is not redacted.
   */
  reply: {
    status: 200 | 201 | 202
    schema?: z.ZodType
    events?: boolean
    mediaTypes?: readonly string[]
    showsSecret?: true
  }
  handle(request: RouteRequest<Body, Query>): Promise<Response> | Response
}

/** Gives a route's handler the types of its schemas. */
export function defineRoute<Body, Query>(route: Route<Body, Query>): Route {
  return route
}

/** Reads and checks what the route takes, and answers. The body is parsed once, here. */
export async function answer(route: Route, context: HttpContext, maxBodyBytes: number): Promise<Response> {
  const query = checked(route.query ?? emptyRequestSchema, context.req.query(), 'query')
  const body = await readBody(route, context, maxBodyBytes)
  if (!route.rawBody) context.get('onBodyRead')?.()
  return route.handle({ context, body, query })
}

async function readBody(route: Route, context: HttpContext, maxBodyBytes: number): Promise<unknown> {
  if (route.rawBody) return undefined
  if (!hasBody(context)) return route.body && checked(route.body, {}, 'body')
  if (!route.body) throw new FamiliarError('bad_request', 'This route takes no body')
  const parsed = parseAnyJson(await readLimitedText(context, maxBodyBytes))
  if (!parsed.ok) throw new FamiliarError('bad_request', `The body is not JSON: ${parsed.message}`)
  return checked(route.body, parsed.value, 'body')
}

function checked<T>(schema: z.ZodType<T>, value: unknown, where: 'body' | 'query'): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new FamiliarError('bad_request', describeIssues(result.error, where))
}
