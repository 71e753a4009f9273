import { Hono } from 'hono'
import { errorReply, errorReplyFor } from './error-reply.ts'
import { type GuardName, guardNames } from './guards/guard-names.ts'
import { addGuards, routeGuards } from './guards/guards.ts'
import type { HttpDependencies, HttpEnv } from './http-dependencies.ts'
import { createOpenStreams } from './open-streams.ts'
import { redactReply } from './redact-reply.ts'
import { answer, type Route } from './route.ts'
import { createApprovalRoutes } from './routes/approval-routes.ts'
import { createAssetRoutes } from './routes/assets/asset-routes.ts'
import { createCapabilityRoutes } from './routes/capabilities/capability-routes.ts'
import { createChatRoutes } from './routes/chat-routes.ts'
import { createClientToolRoutes } from './routes/client-tool-routes.ts'
import { createCommandRoutes } from './routes/command-routes.ts'
import { createDocumentRoutes } from './routes/document-routes.ts'
import { createEventRoutes } from './routes/event-routes.ts'
import { createFinderRoutes } from './routes/finder-routes.ts'
import { createHookRoutes } from './routes/hook-routes.ts'
import { createMcpRoutes } from './routes/mcp-routes.ts'
import { createMemoryRoutes } from './routes/memory/memory-routes.ts'
import { createScheduleRoutes } from './routes/schedule-routes.ts'
import { createSessionControlRoutes } from './routes/session-control-routes.ts'
import { createSessionRoutes } from './routes/session-routes.ts'
import { createSkillRoutes } from './routes/skill-routes.ts'
import { createSpawnRoutes } from './routes/spawn-routes.ts'
import { createStatusRoutes } from './routes/status-routes.ts'
import { createTelemetryRoutes } from './routes/telemetry-routes.ts'
import { createToolRoutes } from './routes/tools/tool-routes.ts'
import { createTriggerRoutes } from './routes/trigger-routes.ts'
import { createUserRoutes } from './routes/user-routes.ts'
import { createStreamReply } from './stream-reply.ts'

export interface HttpApp {
  app: Hono<HttpEnv>
  routes: readonly Route[]
  /** Ends every event stream, so that a server that stops need not wait for them. */
  endStreams(): void
}

const defaultMaxStreams = 256

/** The whole API as one function from request to response; `serveHttp` puts it behind a socket. */
export function createHttpApp(
  dependencies: HttpDependencies & {
    /** Only a test leaves one out, to see that it was this one that refused. */
    guards?: readonly GuardName[]
  },
): HttpApp {
  const { clock, logger, settings, triggers, telemetry, tools, capabilities, schedules, mcp, assets } = dependencies
  const guards = new Set(dependencies.guards ?? guardNames)
  const streams = createOpenStreams(settings.maxStreams ?? defaultMaxStreams)
  const { redactor } = dependencies
  const streamReply = createStreamReply({ streams, clock, logger, redactor })
  const cleaned = (response: Response) => (redactor ? redactReply(response, redactor) : response)
  const routes: Route[] = [
    ...createChatRoutes(dependencies, streamReply),
    ...createApprovalRoutes(dependencies),
    ...(dependencies.commands ? createCommandRoutes({ ...dependencies, commands: dependencies.commands }) : []),
    ...createStatusRoutes(dependencies),
    ...createSessionRoutes(dependencies),
    ...createSessionControlRoutes(dependencies),
    ...createEventRoutes(dependencies, streamReply),
    ...createSpawnRoutes(dependencies),
    ...createClientToolRoutes(dependencies),
    ...createMemoryRoutes(dependencies, streamReply),
    ...(tools ? createToolRoutes(tools) : []),
    ...(capabilities ? createCapabilityRoutes(capabilities, streamReply) : []),
    ...(triggers ? [...createHookRoutes({ ...triggers, settings }), ...createTriggerRoutes(triggers)] : []),
    ...(schedules ? createScheduleRoutes(schedules) : []),
    ...(dependencies.skills ? createSkillRoutes(dependencies.skills) : []),
    ...(mcp ? createMcpRoutes(mcp) : []),
    ...(assets ? createAssetRoutes(assets) : []),
    ...(dependencies.finders ? createFinderRoutes(dependencies.finders) : []),
    ...(telemetry ? createTelemetryRoutes(telemetry) : []),
    ...(dependencies.users ? createUserRoutes(dependencies.users) : []),
    ...createDocumentRoutes(dependencies, () => routes),
  ]

  const app = new Hono<HttpEnv>()
  addGuards(app, dependencies, { guards, routes })
  // Path by path: the first that fits answers, also with a refusal. `/memories/search` is no memory of that name.
  for (const [path, known] of Map.groupBy(routes, (route) => route.path)) {
    for (const route of known) {
      const maxBodyBytes = guards.has('body_size') ? bodyLimit(route, dependencies) : Number.POSITIVE_INFINITY
      const handlers = routeGuards(route, dependencies, { guards, maxBodyBytes })
      app.on(route.method, [path], ...handlers, async (context) => {
        const response = await answer(route, context, maxBodyBytes)
        return route.reply.showsSecret ? response : cleaned(response)
      })
    }
    if (guards.has('method')) refuseOtherMethods(app, path, known)
  }
  app.notFound(() => errorReply('not_found', 'There is nothing at this path.'))
  app.onError((cause, context) => {
    // The client has gone: nobody reads this, and it is no failure of ours.
    if (context.req.raw.signal.aborted) return new Response(null, { status: 499 })
    return cleaned(errorReplyFor(cause, logger))
  })
  return { app, routes, endStreams: streams.endAll }
}

/** Base64 makes three bytes four. */
function bodyLimit(route: Route, { settings }: HttpDependencies): number {
  if (route.rawBody) return route.rawBody.maxBytes
  return settings.maxBodyBytes + (route.attachments ? Math.ceil(settings.maxAttachmentBytes / 3) * 4 : 0)
}

function refuseOtherMethods(app: Hono<HttpEnv>, path: string, known: readonly Route[]): void {
  const allow = known.map(({ method }) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
  app.all(path, (context) =>
    errorReply('method_not_allowed', `${context.req.method} is not possible here; ${allow} is.`, {
      headers: { allow },
    }),
  )
}
