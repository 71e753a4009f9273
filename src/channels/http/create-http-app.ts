import { Hono } from 'hono'
import { errorReply, errorReplyFor } from './error-reply.ts'
import { createBodyLoadGuard } from './guards/body-load-guard.ts'
import { type GuardName, guardNames } from './guards/guard-names.ts'
import { addGuards, routeGuards } from './guards/guards.ts'
import type { HttpDependencies, HttpEnv } from './http-dependencies.ts'
import { observeRequests } from './observe-requests.ts'
import { createOpenStreams } from './open-streams.ts'
import { openAiErrors, openAiPaths } from './openai/openai-errors.ts'
import { createOpenAiRoutes } from './openai/openai-routes.ts'
import { redactReply } from './redact-reply.ts'
import { answer, type Route } from './route.ts'
import { createApprovalRoutes } from './routes/approval-routes.ts'
import { createAssetRoutes } from './routes/assets/asset-routes.ts'
import { createCapabilityRoutes } from './routes/capabilities/capability-routes.ts'
import { createChatRoutes } from './routes/chat-routes.ts'
import { createClientToolRoutes } from './routes/client-tool-routes.ts'
import { createCommandRoutes } from './routes/command-routes.ts'
import { createCostRoutes } from './routes/cost-routes.ts'
import { createDocumentRoutes } from './routes/document-routes.ts'
import { createEventRoutes } from './routes/event-routes.ts'
import { createFinderRoutes } from './routes/finder-routes.ts'
import { createHealthRoutes } from './routes/health-routes.ts'
import { createHomeRoutes } from './routes/home-routes.ts'
import { createHookRoutes } from './routes/hook-routes.ts'
import { createMcpRoutes } from './routes/mcp-routes.ts'
import { createMcpServerRoutes } from './routes/mcp-server-routes.ts'
import { createMemoryRoutes } from './routes/memory/memory-routes.ts'
import { createMetricsRoutes } from './routes/metrics-routes.ts'
import { createOutboxRoutes } from './routes/outbox-routes.ts'
import { createCardRoutes } from './routes/page/card-routes.ts'
import { createSignInRoutes } from './routes/page/sign-in-routes.ts'
import { createTalkRoutes } from './routes/page/talk-routes.ts'
import { createScheduleRoutes } from './routes/schedule-routes.ts'
import { createSecretLinkRoutes } from './routes/secret-link-routes.ts'
import { createSessionControlRoutes } from './routes/session-control-routes.ts'
import { createSessionRoutes } from './routes/session-routes.ts'
import { createSkillRoutes } from './routes/skill-routes.ts'
import { createSpawnRoutes } from './routes/spawn-routes.ts'
import { createStatusRoutes } from './routes/status-routes.ts'
import { createTelegramRoutes } from './routes/telegram-routes.ts'
import { createTelemetryRoutes } from './routes/telemetry-routes.ts'
import { createTokenRoutes } from './routes/token-routes.ts'
import { createToolRoutes } from './routes/tools/tool-routes.ts'
import { createTraceRoutes } from './routes/trace-routes.ts'
import { createTriggerRoutes } from './routes/trigger-routes.ts'
import { createUserRoutes } from './routes/user-routes.ts'
import { createVoiceRoutes } from './routes/voice-routes.ts'
import { createStreamReply } from './stream-reply.ts'

export interface HttpApp {
  app: Hono<HttpEnv>
  routes: readonly Route[]
  /** Ends every event stream, so that a server that stops need not wait for them. */
  endStreams(): void
}

const pathsOfWorkers: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics', '/api/v1/status'])

const defaultMaxStreams = 256
const defaultMaxBytesInFlight = 256 * 1024 ** 2

/** The whole API as one function from request to response; `serveHttp` puts it behind a socket. */
export function createHttpApp(
  dependencies: HttpDependencies & {
    /** Only a test leaves one out, to see that it was this one that refused. */
    guards?: readonly GuardName[]
    /** A daemon that only works for others: nobody talks to it, and it says how it is. */
    worksOnly?: boolean
  },
): HttpApp {
  const { clock, logger, settings, triggers, telemetry, tools, capabilities, schedules, mcp, assets } = dependencies
  const guards = new Set(dependencies.guards ?? guardNames)
  const { maxStreams = defaultMaxStreams, maxBytesInFlight = defaultMaxBytesInFlight } = settings
  const streams = createOpenStreams({ inAll: maxStreams, ofUser: settings.maxStreamsPerUser ?? maxStreams })
  const bodyLoadGuard = createBodyLoadGuard(maxBytesInFlight)
  const { redactor, observation } = dependencies
  const requestId = () => observation?.telemetry.work.current().request
  const streamReply = createStreamReply({ streams, clock, logger, redactor, requestId })
  const cleaned = (response: Response) => (redactor ? redactReply(response, redactor) : response)
  const all: Route[] = [
    ...createChatRoutes(dependencies, streamReply),
    ...createApprovalRoutes(dependencies),
    ...(dependencies.commands ? createCommandRoutes({ ...dependencies, commands: dependencies.commands }) : []),
    ...createStatusRoutes(dependencies),
    ...(dependencies.costs ? createCostRoutes(dependencies.costs) : []),
    ...(dependencies.costs ? createTraceRoutes(dependencies, dependencies.costs) : []),
    ...(dependencies.home ? createHomeRoutes(dependencies.home) : []),
    ...createSessionRoutes(dependencies),
    ...createSessionControlRoutes(dependencies),
    ...createEventRoutes(dependencies, streamReply),
    ...createSpawnRoutes(dependencies),
    ...createClientToolRoutes(dependencies),
    ...createMemoryRoutes(dependencies, streamReply),
    ...(tools ? createToolRoutes(tools) : []),
    ...(capabilities ? createCapabilityRoutes(capabilities, streamReply) : []),
    ...(triggers ? [...createHookRoutes({ ...triggers, settings }), ...createTriggerRoutes(triggers)] : []),
    ...(dependencies.links ? createSecretLinkRoutes(dependencies.links.secrets) : []),
    ...(schedules ? createScheduleRoutes(schedules) : []),
    ...(dependencies.outbox ? createOutboxRoutes(dependencies.outbox) : []),
    ...(dependencies.skills ? createSkillRoutes(dependencies.skills) : []),
    ...(mcp ? createMcpRoutes(mcp) : []),
    ...(dependencies.mcpServer ? createMcpServerRoutes(dependencies.mcpServer, { settings, streams }) : []),
    ...(assets ? createAssetRoutes(assets) : []),
    ...(dependencies.finders ? createFinderRoutes(dependencies.finders) : []),
    ...(telemetry ? createTelemetryRoutes(telemetry) : []),
    ...(dependencies.telegram ? createTelegramRoutes(dependencies.telegram) : []),
    ...(dependencies.users ? createUserRoutes(dependencies.users) : []),
    ...(dependencies.users?.tokens ? createTokenRoutes(dependencies.users.users, dependencies.users.tokens) : []),
    ...(dependencies.openai ? createOpenAiRoutes(dependencies, dependencies.openai, streamReply) : []),
    ...(dependencies.voice ? createVoiceRoutes(dependencies.voice) : []),
    ...(dependencies.page
      ? [
          ...createSignInRoutes(dependencies, dependencies.page),
          ...createTalkRoutes(dependencies, dependencies.page),
          ...createCardRoutes(),
        ]
      : []),
    ...(observation ? createHealthRoutes(observation.health) : []),
    ...(observation ? createMetricsRoutes(observation.telemetry) : []),
    ...createDocumentRoutes(dependencies, () => routes),
  ]
  const routes = dependencies.worksOnly ? all.filter(({ path }) => pathsOfWorkers.has(path)) : all

  const app = new Hono<HttpEnv>()
  if (observation) app.use(observeRequests(observation.telemetry))
  app.use(openAiPaths, openAiErrors)
  addGuards(app, dependencies, { guards, routes })
  // Path by path: the first that fits answers, also with a refusal. `/memories/search` is no memory of that name.
  for (const [path, known] of Map.groupBy(routes, (route) => route.path)) {
    for (const route of known) {
      const maxBodyBytes = guards.has('body_size') ? bodyLimit(route, dependencies) : Number.POSITIVE_INFINITY
      const handlers = routeGuards(route, dependencies, { guards, maxBodyBytes, bodyLoadGuard })
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
    return cleaned(errorReplyFor(cause, logger, context.get('requestId')))
  })
  function endStreams(): void {
    streams.endAll()
    dependencies.mcpServer?.close().catch((error: unknown) => logger.error('MCP clients were not let go', { error }))
  }
  return { app, routes, endStreams }
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
