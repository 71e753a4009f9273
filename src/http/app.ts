import { Hono } from 'hono'
import { parseCursor } from '../agent/event-stream.ts'
import { openMetricsType, prometheusText, prometheusType } from '../base/telemetry/telemetry.ts'
import * as sessionApi from '../protocol/api.ts'
import * as commandApi from '../protocol/commands.ts'
import { FamiliarError } from '../protocol/errors.ts'
import * as fileApi from '../protocol/files.ts'
import * as pageApi from '../protocol/page.ts'
import * as statusApi from '../protocol/status.ts'
import * as api from '../protocol/tools.ts'
import { createStreamRedactor, type Redactor, redactStored } from '../security/redactor.ts'
import { frameDocument } from '../tools/cards/frame-document.ts'
import type { Finders } from '../tools/files/finders.ts'
import type { McpTools } from '../tools/mcp/mcp-tools.ts'
import {
  createOpenStreams,
  createSessionHandler,
  createStreamReply,
  refuseHead,
  type StreamReply,
  sessionOf,
  toSentEvents,
  waitForReply,
} from './chat-replies.ts'
import {
  type HttpContext,
  type HttpDependencies,
  type HttpEnv,
  type HttpObservation,
  type HttpSettings,
  type HttpTriggers,
  observeRequests,
} from './dependencies.ts'
import { addGuards, createBodyLoadGuard, type GuardName, guardNames, routeGuards, signedCallOf } from './guards.ts'
import { createNoticeRoutes } from './notices.ts'
import { openAiErrors, openAiPaths } from './openai/client-list.ts'
import { createOpenAiRoutes } from './openai/openai-routes.ts'
import { commonHeaders, errorReply, errorReplyFor, jsonReply } from './replies.ts'
import { answer, handle, type Route } from './route.ts'
import { createCapabilityRoutes } from './routes/capabilities.ts'
import { createOutboxRoutes, createTelegramRoutes, createVoiceRoutes } from './routes/channels.ts'
import { createChatRoutes } from './routes/chat.ts'
import { createBlockRoutes, createLocalFileRoutes, createPinRoutes } from './routes/files.ts'
import { createMemoryRoutes } from './routes/memory.ts'
import { createOrganizeRoutes } from './routes/organize.ts'
import { createApprovalRoutes, createPermissionRoutes } from './routes/permissions.ts'
import { createCommandRoutes, createScheduleRoutes } from './routes/schedules.ts'
import { createFindRoutes } from './routes/search.ts'
import { createSessionRoutes } from './routes/sessions.ts'
import { createCostRoutes, createHomeRoutes, createSetupRoutes, createStatusRoutes } from './routes/status.ts'
import { createTalkRoutes } from './routes/talk.ts'
import { createMcpServerRoutes, createSkillRoutes, createToolRoutes, createTriggerRoutes } from './routes/tools.ts'
import { createTraceRoutes } from './routes/traces.ts'
import { createSecretLinkRoutes, createSignInRoutes, createTokenRoutes, createUserRoutes } from './routes/users.ts'

export interface HttpApp {
  app: Hono<HttpEnv>
  routes: readonly Route[]
  /** Ends every event stream, so that a stopping server does not wait for them. */
  endStreams(): void
}

const pathsOfWorkers: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics', '/api/v1/status'])

const defaultMaxStreams = 256
const defaultMaxBytesInFlight = 256 * 1024 ** 2

/** The whole API as one function from request to response. `serveHttp` serves it. */
export function createHttpApp(
  dependencies: HttpDependencies & {
    /** Only tests omit one. */
    guards?: readonly GuardName[]
    /** A worker daemon accepts no messages and only has the health routes. */
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
    ...(dependencies.permissions ? createPermissionRoutes(dependencies, dependencies.permissions) : []),
    ...(dependencies.commands ? createCommandRoutes({ ...dependencies, commands: dependencies.commands }) : []),
    ...createStatusRoutes(dependencies),
    ...(dependencies.costs ? createCostRoutes(dependencies.costs) : []),
    ...(dependencies.costs ? createTraceRoutes(dependencies, dependencies.costs) : []),
    ...(dependencies.home ? createHomeRoutes(dependencies.home) : []),
    ...(dependencies.setup ? createSetupRoutes(dependencies.setup) : []),
    ...createSessionRoutes(dependencies),
    ...createEventRoutes(dependencies, streamReply),
    ...createMemoryRoutes(dependencies, streamReply),
    ...(tools ? createToolRoutes(tools) : []),
    ...(capabilities ? createCapabilityRoutes(capabilities, streamReply) : []),
    ...(triggers ? [...createHookRoutes(triggers, settings), ...createTriggerRoutes(triggers)] : []),
    ...(dependencies.links ? createSecretLinkRoutes(dependencies.links.secrets) : []),
    ...(schedules ? createScheduleRoutes(schedules) : []),
    ...(dependencies.outbox ? createOutboxRoutes(dependencies.outbox) : []),
    ...(dependencies.skills ? createSkillRoutes(dependencies.skills) : []),
    ...(mcp ? createMcpRoutes(mcp) : []),
    ...(dependencies.mcpServer ? createMcpServerRoutes(dependencies.mcpServer, { settings, streams }) : []),
    ...(assets ? createBlockRoutes(assets.assets) : []),
    ...(assets ? createPinRoutes(assets.pins) : []),
    ...(assets ? createLocalFileRoutes(assets.assets) : []),
    ...(dependencies.finders ? createFinderRoutes(dependencies.finders) : []),
    ...(telemetry ? [handle(api.clientTools.describe, ({ userId, body }) => telemetry.keep(userId, body))] : []),
    ...(dependencies.telegram ? createTelegramRoutes(dependencies.telegram) : []),
    ...(dependencies.users ? createUserRoutes(dependencies.users) : []),
    ...(dependencies.users?.tokens ? createTokenRoutes(dependencies.users.users, dependencies.users.tokens) : []),
    ...(dependencies.openai ? createOpenAiRoutes(dependencies, dependencies.openai, streamReply) : []),
    ...(dependencies.voice ? createVoiceRoutes(dependencies.voice) : []),
    ...(dependencies.page ? createSignInRoutes(dependencies, dependencies.page) : []),
    ...(dependencies.page ? createTalkRoutes(dependencies, dependencies.page) : []),
    ...(dependencies.page ? createOrganizeRoutes(dependencies, dependencies.page) : []),
    ...(dependencies.search ? createFindRoutes(dependencies.search) : []),
    ...(dependencies.page ? createNoticeRoutes(dependencies.page.notices, streamReply) : []),
    // Cards of tools that were run outside a conversation.
    ...(dependencies.page
      ? [handle(pageApi.page.cardDocument, ({ body }) => ({ document: frameDocument(body) }))]
      : []),
    ...(observation ? createObservationRoutes(observation) : []),
    handle(statusApi.home.openApi, async () => {
      const { openApiDocument } = await import('./openapi-document.ts')
      const { name, version } = dependencies.status()
      return jsonReply(openApiDocument(routes, { title: name, version }))
    }),
  ]
  const routes: Route[] = dependencies.worksOnly ? all.filter(({ path }) => pathsOfWorkers.has(path)) : all

  const app = new Hono<HttpEnv>()
  if (observation) app.use(observeRequests(observation.telemetry))
  app.use(openAiPaths, openAiErrors)
  addGuards(app, dependencies, { guards, routes })
  // Path by path: the first path that matches replies, also with a refusal. `/memories/search` is not an id.
  for (const [path, known] of Map.groupBy(routes, (route) => route.path)) {
    for (const route of known) {
      const maxBodyBytes = guards.has('body_size') ? bodyLimit(route, dependencies) : Number.POSITIVE_INFINITY
      const handlers = routeGuards(route, dependencies, { guards, maxBodyBytes, bodyLoadGuard })
      app.on(route.method, [path], ...handlers, async (context) => {
        const response = await answer(route, context, maxBodyBytes)
        return route.showsSecret ? response : cleaned(response)
      })
    }
    if (guards.has('method')) refuseOtherMethods(app, path, known)
  }
  app.notFound(() => errorReply('not_found', 'There is nothing at this path.'))
  app.onError((cause, context) => {
    // The client has disconnected; this is not a server error.
    if (context.req.raw.signal.aborted) return new Response(null, { status: 499 })
    return cleaned(errorReplyFor(cause, logger, context.get('requestId')))
  })
  function endStreams(): void {
    streams.endAll()
    dependencies.mcpServer
      ?.close()
      .catch((error: unknown) => logger.error('could not close the connections of MCP clients', { error }))
  }
  return { app, routes, endStreams }
}

/** Base64 turns three bytes into four. */
function bodyLimit(route: Route, { settings }: HttpDependencies): number {
  if (route.maxBytes !== undefined) return route.maxBytes
  return settings.maxBodyBytes + (route.attachments ? Math.ceil(settings.maxAttachmentBytes / 3) * 4 : 0)
}

function refuseOtherMethods(app: Hono<HttpEnv>, path: string, known: readonly Route[]): void {
  const allow = known.map(({ method }) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
  app.all(path, (context) =>
    errorReply('method_not_allowed', `${context.req.method} is not allowed here. Allowed: ${allow}`, {
      headers: { allow },
    }),
  )
}

/** The same reply without secrets. JSON stays JSON; other text is cleaned as it streams. */
export async function redactReply(response: Response, redactor: Redactor): Promise<Response> {
  const { status, statusText, headers, body } = response
  const type = headers.get('content-type') ?? ''
  // Events are cleaned one by one before they are sent: a stream redactor would delay the end of each.
  if (!body || type.startsWith('text/event-stream')) return response
  if (type.startsWith('application/json')) {
    return new Response(redactStored(redactor, await response.text()), { status, statusText, headers })
  }
  if (!/^text\/|ndjson|jsonl|xml/.test(type)) return response
  const stream = createStreamRedactor(redactor)
  const cleaned = body.pipeThrough(new TextDecoderStream()).pipeThrough(
    new TransformStream<string, string>({
      transform: (text, controller) => controller.enqueue(stream.push(text)),
      flush: (controller) => controller.enqueue(stream.end()),
    }),
  )
  return new Response(cleaned.pipeThrough(new TextEncoderStream()), { status, statusText, headers })
}

/** The events of a session, its sub-agents, and the results of client tools. */
function createEventRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  const { conversations, monitor } = dependencies
  const inSession = createSessionHandler(dependencies)
  return [
    handle(sessionApi.sessions.events, async ({ query, context }) => {
      refuseHead(context)
      const { id, userId } = await sessionOf(dependencies, context)
      const cursor = context.req.header('last-event-id') ?? query.after ?? '0'
      parseCursor(cursor)
      return streamReply(userId, async (signal) => {
        const events = await conversations.events(userId, id, cursor, signal)
        return { events: toSentEvents(events), headers: { 'familiar-session-id': id } }
      })
    }),
    inSession(commandApi.spawns.list, async ({ userId, session }) => {
      const spawns = await conversations.spawns(userId, session.id)
      const { turns } = monitor()
      return {
        spawns: spawns.map((spawn) => ({
          ...spawn,
          ...spawn.request,
          doing: turns.find(({ sessionId }) => sessionId === spawn.sessionId) ?? null,
        })),
      }
    }),
    inSession(api.clientTools.giveResults, async ({ userId, session, query, body, context }) => {
      const results = body.results.map(({ untrusted, ...result }) => ({ ...result, isUntrusted: untrusted }))
      const sessionId = session.id
      const { messageId } = await conversations.giveToolResults({ userId, sessionId, results })
      return waitForReply(dependencies, context, { messageId, sessionId, timeoutSeconds: query.timeoutSeconds })
    }),
  ]
}

/** The entries for `@` and `@@`. File names are sensitive, so only the owner gets them. */
export function createFinderRoutes(finders: Pick<Finders, 'find'>): Route[] {
  return [handle(fileApi.finder.find, ({ userId, query, signal }) => finders.find({ userId, ...query, signal }))]
}

const defaultMaxHookBytes = 512_000

/** Webhooks: external programs deliver the events that a tool waits for. */
function createHookRoutes({ webhooks }: HttpTriggers, settings: HttpSettings): Route[] {
  const maxBytes = settings.maxHookBytes ?? defaultMaxHookBytes
  const accept = ({ context }: { context: HttpContext }) => webhooks.accept(signedCallOf(context))
  return [handle(api.triggers.hook, accept, { maxBytes }), handle(api.triggers.hookOfApi, accept, { maxBytes })]
}

/**
 * MCP servers. No route approves a server or sets its program (SEC-4): the owner does that on the command line of this
 * machine, and `refresh` only reads it again.
 */
function createMcpRoutes(mcp: Pick<McpTools, 'servers' | 'refresh'>): Route[] {
  return [
    handle(api.mcp.servers, () => ({ servers: mcp.servers() })),
    handle(api.mcp.refresh, async () => {
      await mcp.refresh()
      return { servers: mcp.servers() }
    }),
  ]
}

/** Health checks need no token, because they reveal nothing. Metrics are for the owner; the scope `read` is enough. */
function createObservationRoutes({ health, telemetry }: HttpObservation): Route[] {
  return [
    handle(statusApi.home.health, () => ({ ok: true as const })),
    handle(statusApi.home.ready, async () => {
      if (await health.isReady()) return { ok: true as const }
      throw new FamiliarError('unavailable', 'Not ready.')
    }),
    handle(statusApi.home.metrics, async ({ context }) => {
      const isOpenMetrics = /\bapplication\/openmetrics-text\b/.test(context.req.header('accept') ?? '')
      const headers = { ...commonHeaders, 'content-type': isOpenMetrics ? openMetricsType : prometheusType }
      return new Response(prometheusText(await telemetry.read(), { isOpenMetrics }), { headers })
    }),
  ]
}
