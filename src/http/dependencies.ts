import { randomUUID } from 'node:crypto'
import type { HttpBindings } from '@hono/node-server'
import type { Context, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import type { z } from 'zod'
import type { Commands } from '../agent/commands/command.ts'
import type { Conversations } from '../agent/conversations.ts'
import type { CostPeriod, CostReport, Costs } from '../agent/costs.ts'
import type { Learning } from '../agent/learning.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { otherName } from '../base/telemetry/metrics.ts'
import type { MonitorState } from '../base/telemetry/monitor.ts'
import { parseTraceparent, type Telemetry } from '../base/telemetry/telemetry.ts'
import type { Outbox } from '../channels/outbox.ts'
import type { TelegramDesk } from '../channels/telegram/services.ts'
import type { Capabilities } from '../custom-tools/capabilities.ts'
import type { ToolCatalog } from '../custom-tools/catalog.ts'
import type { Skills } from '../custom-tools/skill-folders.ts'
import type { MemoryCounts } from '../memory/decay.ts'
import type { FamiliarMemory } from '../memory/familiar-memory.ts'
import type { MemoryExport } from '../memory/transfer/export-memories.ts'
import type { ImportOutcome, MemoryImport } from '../memory/transfer/import-memories.ts'
import type { Speaker, Transcriber } from '../models/speech/speech.ts'
import type {
  doctorReplySchema,
  modelsReplySchema,
  reloadReplySchema,
  settingsReplySchema,
} from '../protocol/status.ts'
import type { TriggerRun } from '../protocol/tools.ts'
import type { Redactor } from '../security/redactor.ts'
import type { OneTimeLink, OneTimeLinks } from '../security/sign-in.ts'
import type { AccessTokens, Bearer, RateLimiter } from '../security/tokens.ts'
import type { User, Users } from '../security/users.ts'
import type { MediaStore } from '../storage/media-store.ts'
import type { Schedules } from '../tools/builtin/schedule-tools.ts'
import type { ClientContexts } from '../tools/client-context.ts'
import type { Finders } from '../tools/files/finders.ts'
import type { OpenAssets } from '../tools/files/open-assets.ts'
import type { McpTools } from '../tools/mcp/mcp-tools.ts'
import type { McpEndpoint } from './mcp/mcp-caller.ts'
import type { OpenAiServices } from './openai/client-list.ts'
import type { HttpPage } from './page.ts'
import type { SecretLinks } from './secret-links.ts'

/** A webhook as it came: headers and body, nothing of it believed yet. */
export interface WebhookCall {
  tool: string
  timestamp: string | undefined
  nonce: string | undefined
  signature: string | undefined
  body: Uint8Array
}

/** The receiver of webhooks. */
export interface Webhooks {
  /**
   * Whether the sender knows the secret of a tool with a webhook. False reveals nothing more, not even whether the tool
   * exists. A sender that knows it, but whose timestamp is off, gets an `unauthorized` that says so.
   */
  isSigned(call: WebhookCall): Promise<boolean>
  /**
   * For a signed call: its run is durable when this resolves. `conflict` for a nonce that was used before,
   * `rate_limited` for too many calls; nothing is written then.
   */
  accept(call: WebhookCall): Promise<{ runId: string }>
}

interface DaemonStatus {
  name: string
  version: string
  uptimeSeconds: number
  /** The model that answers now. */
  model: string
}

export interface HttpSettings {
  /** Names that this server answers to, beside localhost, 127.0.0.1 and [::1]; each with any port, or with one. */
  allowedHosts: readonly string[]
  /** Origins of web pages that may call, beside the server's own. */
  allowedOrigins: readonly string[]
  maxBodyBytes: number
  /** All files of one message together; they come on top of `maxBodyBytes`. */
  maxAttachmentBytes: number
  /** Event streams open at once. */
  maxStreams?: number
  /** Those of one user. */
  maxStreamsPerUser?: number
  /** Of all bodies that are held at once. */
  maxBytesInFlight?: number
  /** A file of memories that is brought in. */
  maxImportBytes?: number
  /** Limit for the body of a webhook. */
  maxHookBytes?: number
}

/** Memory and its related services: learning, transfer, figures. */
export interface HttpMemory {
  memory: FamiliarMemory
  learning: Pick<Learning, 'consolidate' | 'consolidateFiles' | 'status'>
  /** Watches the folders that the user has indexed now. To be called when they have changed; returns at once. */
  followFiles(userId: string): void
  countMemories(userId: string): Promise<MemoryCounts>
  /** The size of the database. */
  databaseBytes(): Promise<number>
  exportMemories(request: MemoryExport): AsyncGenerator<string>
  importMemories(request: MemoryImport): Promise<ImportOutcome>
  /** Folder for bodies that take longer to process than the request may take. */
  spoolDirectory: string
  /** Days are days there. */
  timeZone: string
}

/** Tools that run without being asked. */
export interface HttpTriggers {
  webhooks: Webhooks
  /** Newest first, only the user's own. */
  runs(userId: string, query: { tool?: string; limit: number }): Promise<TriggerRun[]>
  /** Makes a new secret for the callers of a tool's webhook, in place of the one before. Shown this once. */
  makeHookSecret(userId: string, tool: string): Promise<string>
}

/** Addresses of one use, and what can be done at them. */
interface HttpLinks {
  store: Pick<OneTimeLinks, 'peek'>
  secrets: Pick<SecretLinks, 'asked' | 'give'>
}

/** The users of this home, for its owner. */
export interface HttpUsers {
  users: Users
  /** Exports first; see there. */
  removeUser(request: {
    name: string
    directory: string
    signal: AbortSignal
  }): Promise<{ user: User; directory: string; files: string[] }>
  /** Access tokens. Absent: there are no routes for them. The creator of a token registers it with the redactor. */
  tokens?: Pick<AccessTokens, 'createToken' | 'list' | 'revoke'>
}

export interface HttpDependencies extends HttpMemory {
  /** Absent: there is no page, and no browser is signed in. */
  page?: HttpPage
  /** Absent: there are no routes for it. */
  home?: HttpHome
  /** Absent: there are no routes for them. */
  commands?: Commands
  finders?: Pick<Finders, 'find'>
  /** Absent: there are no routes for them. */
  users?: HttpUsers
  /** Absent: there are no routes for them. */
  triggers?: HttpTriggers
  /** Absent: there are no routes for them. */
  links?: HttpLinks
  /** Absent: there are no routes for them. */
  tools?: ToolCatalog
  /** Absent: there are no routes for them. */
  capabilities?: Capabilities
  /** Absent: there are no routes for them. */
  schedules?: Schedules
  /** Absent: there are no routes for it. */
  outbox?: Pick<Outbox, 'list' | 'counts' | 'show' | 'retry' | 'cancel'>
  /** Absent: there are no routes for them. */
  assets?: Pick<OpenAssets, 'assets' | 'pins'>
  /** Absent: there are no routes for them. */
  mcp?: Pick<McpTools, 'servers' | 'refresh'>
  /** Absent: there is no MCP endpoint. It is closed with the streams. */
  mcpServer?: McpEndpoint
  /** Absent: there are no routes for them. */
  skills?: Pick<Skills, 'list' | 'show' | 'enable' | 'disable' | 'reload'>
  /** Absent: there are no routes for them. */
  voice?: { speaker: Speaker; transcriber: Transcriber }
  /** Absent: there are no routes for it. */
  telegram?: TelegramDesk
  /** Absent: facts about clients are not accepted. */
  telemetry?: Pick<ClientContexts, 'keep'>
  /** Absent: there are no routes for them. */
  openai?: OpenAiServices
  /** Absent: there are no routes for it, and nothing is counted. */
  observation?: HttpObservation
  conversations: Conversations
  tokens: Pick<AccessTokens, 'verify'>
  limiter: RateLimiter
  media: Pick<MediaStore, 'put' | 'load'>
  costReport(userId: string, period: CostPeriod): Promise<CostReport>
  /** Absent: there are no routes for them. */
  costs?: Costs
  monitor(): MonitorState
  status(): DaemonStatus
  clock: Clock
  logger: Logger
  /** Takes secrets out of every answer (SEC-13). */
  redactor?: Redactor
  settings: HttpSettings
}

export interface HttpEnv {
  /** Absent if the application is called without a socket. */
  Bindings: Partial<HttpBindings>
  Variables: {
    requestId?: string
    caller?: Bearer
    signedCall?: WebhookCall
    openedLink?: OpenedLink
    /** To be called as soon as the body need not be held any more. */
    onBodyRead?: () => void
  }
}

export type HttpContext = Context<HttpEnv>

/** The home itself, for its users. Nothing here shows a secret, and the configuration is changed in its files alone. */
export interface HttpHome {
  /** Two that are asked for at once are one. */
  examine(options: { network: boolean }): Promise<z.infer<typeof doctorReplySchema>['findings']>
  settings(): z.infer<typeof settingsReplySchema>
  /** Reads the configuration files again. */
  reload(): Promise<z.infer<typeof reloadReplySchema>>
  /** The models that the user may use, without details that only the owner may see. */
  models(userId: string, isOwner: boolean): z.infer<typeof modelsReplySchema>
}

/** Whether this daemon takes work. */
export interface HttpHealth {
  /** Answers quickly even if the database does not, and never rejects. */
  isReady(): Promise<boolean>
}

/** How this server is looked at from outside. */
export interface HttpObservation {
  telemetry: Telemetry
  health: HttpHealth
}

/** An id that another program gave the request; anything else is not taken over into the log. */
const idShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/**
 * Runs before everything else: gives each request its id for the log, returns it with the response, and measures. It
 * continues a trace of the caller.
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

/** The route pattern of the request, with its parameters by name; undefined for pages and unknown paths. */
function routeOf(context: HttpContext): string | undefined {
  return matchedRoutes(context).find(({ path }) => !path.endsWith('*'))?.path
}

/** A link that holds, and the token that stood in the path: to be used with, never to be logged or shown. */
export interface OpenedLink {
  link: OneTimeLink
  token: string
}
