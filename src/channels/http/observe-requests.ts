import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { otherName } from '../../monitor/telemetry/attributes.ts'
import type { Telemetry } from '../../monitor/telemetry/telemetry.ts'
import { parseTraceparent } from '../../monitor/telemetry/traceparent.ts'
import type { HttpContext, HttpEnv } from './http-dependencies.ts'

/** An id that another program gave the request; anything else is not taken over into the log. */
const idShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/**
 * Stands before everything else: gives each request its id, under which the log has it, tells it with the answer, and measures.
 * A trace that the caller began goes on here.
 */
export function observeRequests(telemetry: Telemetry): MiddlewareHandler<HttpEnv> {
  return (context, next) => {
    const given = context.req.header('x-request-id') ?? ''
    const request = idShape.test(given) ? given : randomUUID()
    const span = parseTraceparent(context.req.header('traceparent'))
    context.set('requestId', request)
    return telemetry.work.apart({ request, span }, () => answerMeasured(telemetry, context, next))
  }
}

async function answerMeasured(telemetry: Telemetry, context: HttpContext, next: () => Promise<void>): Promise<void> {
  const startedAt = performance.now()
  const method = methods.has(context.req.method) ? context.req.method : otherName
  const request = { 'http.request.method': method, 'url.scheme': 'http' }
  const requestId = context.get('requestId') ?? ''
  const route = routeOf(context)
  const start = {
    operation: method,
    ...(route !== undefined && { target: route }),
    kind: 'server',
    attributes: { ...request, 'familiar.request.id': requestId, ...(route !== undefined && { 'http.route': route }) },
  } as const
  await telemetry.inSpan(start, async (span) => {
    await next()
    const { status } = context.res
    context.res.headers.set('x-request-id', requestId)
    const failed = status >= 500 ? { 'error.type': String(status) } : {}
    if (status >= 500) span.fail(String(status))
    span.set({ 'http.response.status_code': status })
    const labels = {
      ...request,
      'http.route': route ?? otherName,
      'http.response.status_code': String(status),
      ...failed,
    }
    telemetry.record('http.server.request.duration', labels, (performance.now() - startedAt) / 1_000)
  })
}

/** The path of the API that the request fits, with its parameters by their names; undefined for pages and for what is not there. */
function routeOf(context: HttpContext): string | undefined {
  return matchedRoutes(context).find(({ path }) => !path.endsWith('*'))?.path
}
