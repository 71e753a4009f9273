import { randomUUID } from 'node:crypto'
import type { HttpBindings } from '@hono/node-server'
import type { Context, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import type { z } from 'zod'
import type { Commands } from '../agent/commands/create-commands.ts'
import type { Conversations } from '../agent/conversations.ts'
import type { CostPeriod, CostReport, Costs } from '../agent/costs.ts'
import type { Learning } from '../agent/learning.ts'
import type { Permissions } from '../agent/permissions.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { otherName } from '../base/telemetry/metrics.ts'
import type { MonitorState } from '../base/telemetry/monitor.ts'
import { parseTraceparent, type Telemetry } from '../base/telemetry/telemetry.ts'
import type { Outbox } from '../channels/create-outbox.ts'
import type { TelegramDesk } from '../channels/telegram/services.ts'
import type { Capabilities } from '../custom-tools/capabilities.ts'
import type { ToolCatalog } from '../custom-tools/catalog.ts'
import type { Skills } from '../custom-tools/skills.ts'
import type { MemoryCounts } from '../memory/decay.ts'
import type { FamiliarMemory } from '../memory/familiar-memory.ts'
import type { MemoryExport } from '../memory/transfer/export-memories.ts'
import type { ImportOutcome, MemoryImport } from '../memory/transfer/import-memories.ts'
import type { Speaker } from '../models/speech/speaker.ts'
import type { Transcriber } from '../models/speech/transcriber.ts'
import type { SearchKind, search } from '../protocol/search.ts'
import type {
  ConnectModel,
  changeSettingReplySchema,
  connectModelReplySchema,
  offersReplySchema,
  SettingValue,
  TryProvider,
  telegramRequestSchema,
  tryProviderReplySchema,
} from '../protocol/setup.ts'
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
import type { ReadDocument } from '../tools/builtin/file-tools.ts'
import type { Schedules } from '../tools/builtin/schedule-tools.ts'
import type { ClientContexts } from '../tools/client-context.ts'
import type { Finders } from '../tools/files/finders.ts'
import type { OpenAssets } from '../tools/files/open-assets.ts'
import type { McpTools } from '../tools/mcp/mcp-tools.ts'
import type { McpEndpoint } from './mcp/mcp-caller.ts'
import type { OpenAiServices } from './openai/client-list.ts'
import type { HttpPage } from './page.ts'
import type { SecretLinks } from './secret-links.ts'

/** An unverified webhook: its headers and body. */
export interface WebhookCall {
  tool: string
  timestamp: string | undefined
  nonce: string | undefined
  signature: string | undefined
  body: Uint8Array
}

export interface Webhooks {
  /**
   * Whether the sender knows the secret of a tool with a webhook. False does not reveal whether the tool exists. Throws
   * `unauthorized` if the sender knows the secret and only the timestamp is wrong.
   */
  isSigned(call: WebhookCall): Promise<boolean>
  /** Stores the run of a signed call. Throws `conflict` for a used nonce and `rate_limited` for too many calls. */
  accept(call: WebhookCall): Promise<{ runId: string }>
}

export interface HttpSettings {
  /** Allowed host names in addition to localhost, 127.0.0.1 and [::1], each with or without a port. */
  allowedHosts: readonly string[]
  /** Origins of web pages that may call, in addition to the server's own. */
  allowedOrigins: readonly string[]
  maxBodyBytes: number
  /** The sum of all files of a message, in addition to `maxBodyBytes`. */
  maxAttachmentBytes: number
  /** Open event streams. */
  maxStreams?: number
  maxStreamsPerUser?: number
  /** The sum of all request bodies in memory. */
  maxBytesInFlight?: number
  maxImportBytes?: number
  maxHookBytes?: number
}

/** Memory and its related services: learning, transfer, statistics. */
export interface HttpMemory {
  memory: FamiliarMemory
  learning: Pick<Learning, 'consolidate' | 'consolidateFiles' | 'status'>
  /** Watches the indexed folders of the user. Call it when they have changed; it returns at once. */
  followFiles(userId: string): void
  countMemories(userId: string): Promise<MemoryCounts>
  databaseBytes(): Promise<number>
  exportMemories(request: MemoryExport): AsyncGenerator<string>
  importMemories(request: MemoryImport): Promise<ImportOutcome>
  /** The folder for request bodies that are too large for memory. */
  spoolDirectory: string
  /** The time zone for dates. */
  timeZone: string
}

/** Scheduled and webhook runs of tools. */
export interface HttpTriggers {
  webhooks: Webhooks
  /** The runs of the user, newest first. */
  runs(userId: string, query: { tool?: string; limit: number }): Promise<TriggerRun[]>
  /** Replaces the secret of a tool's webhook. It is shown once. */
  makeHookSecret(userId: string, tool: string): Promise<string>
}

/** The users of this home, for its owner. */
export interface HttpUsers {
  users: Users
  /** Exports the data of the user, then deletes it. */
  removeUser(request: {
    name: string
    directory: string
    signal: AbortSignal
  }): Promise<{ user: User; directory: string; files: string[] }>
  /** The creator of a token registers it with the redactor. */
  tokens?: Pick<AccessTokens, 'createToken' | 'list' | 'revoke'>
}

/** The services behind the API. Without an optional service, its routes do not exist. */
export interface HttpDependencies extends HttpMemory {
  page?: HttpPage
  home?: HttpHome
  setup?: HttpSetup
  commands?: Commands
  permissions?: Permissions
  search?: HttpSearch
  finders?: Pick<Finders, 'find'>
  users?: HttpUsers
  triggers?: HttpTriggers
  /** One-time links. */
  links?: { store: Pick<OneTimeLinks, 'peek'>; secrets: Pick<SecretLinks, 'asked' | 'give'> }
  tools?: ToolCatalog
  capabilities?: Capabilities
  schedules?: Schedules
  outbox?: Pick<Outbox, 'list' | 'counts' | 'show' | 'retry' | 'cancel'>
  assets?: Pick<OpenAssets, 'assets' | 'pins'>
  mcp?: Pick<McpTools, 'servers' | 'refresh'>
  /** It is closed with the streams. */
  mcpServer?: McpEndpoint
  skills?: Pick<Skills, 'list' | 'show' | 'enable' | 'disable' | 'reload'>
  voice?: { speaker: Speaker; transcriber: Transcriber }
  telegram?: TelegramDesk
  telemetry?: Pick<ClientContexts, 'keep'>
  openai?: OpenAiServices
  observation?: HttpObservation
  conversations: Conversations
  tokens: Pick<AccessTokens, 'verify'>
  limiter: RateLimiter
  media: Pick<MediaStore, 'put' | 'load'>
  /** Previews of PDF and Office files. */
  readDocument?: ReadDocument
  costReport(userId: string, period: CostPeriod): Promise<CostReport>
  costs?: Costs
  monitor(): MonitorState
  status(): { name: string; version: string; uptimeSeconds: number; model: string }
  clock: Clock
  logger: Logger
  /** Removes secrets from every reply (SEC-13). */
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
    /** Call it as soon as the body is no longer needed. */
    onBodyRead?: () => void
  }
}

export type HttpContext = Context<HttpEnv>

/** The home itself. Nothing here shows a secret, and the configuration changes only in its files. */
export interface HttpHome {
  /** Concurrent requests share one run. */
  examine(options: { network: boolean }): Promise<z.infer<typeof doctorReplySchema>['findings']>
  settings(): z.infer<typeof settingsReplySchema>
  reload(): Promise<z.infer<typeof reloadReplySchema>>
  /** The models that the user may use, without details that only the owner may see. */
  models(userId: string, isOwner: boolean): z.infer<typeof modelsReplySchema>
}

/** Connects models and changes settings. A new key goes to the vault and is never shown. */
export interface HttpSetup {
  offers(): Promise<z.infer<typeof offersReplySchema>['providers']>
  tryProvider(request: TryProvider): Promise<z.infer<typeof tryProviderReplySchema>>
  connect(request: ConnectModel): Promise<z.infer<typeof connectModelReplySchema>>
  change(key: string, value: SettingValue): Promise<z.infer<typeof changeSettingReplySchema>>
  setTelegram(request: z.infer<typeof telegramRequestSchema>): Promise<z.infer<typeof changeSettingReplySchema>>
}

/** One search over everything of a user. */
export interface HttpSearch {
  everything(query: {
    userId: string
    isOwner: boolean
    words: string
    kinds: readonly SearchKind[] | undefined
    /** Of each kind. */
    limit: number
    isTyping: boolean
  }): Promise<z.output<typeof search.everything.reply>['found']>
  /** The text of a file that was found. */
  file(userId: string, id: string): Promise<{ name: string; reference: string; text: string } | undefined>
}

export interface HttpObservation {
  telemetry: Telemetry
  /** Returns quickly even if the database does not respond, and never rejects. */
  health: { isReady(): Promise<boolean> }
}

/** Valid request ids of callers. Others are not copied to the log. */
const idShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Runs first: gives each request an id, measures it, and continues a trace of the caller. */
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

/** A valid link with its token, which must not be logged or shown. */
export interface OpenedLink {
  link: OneTimeLink
  token: string
}
