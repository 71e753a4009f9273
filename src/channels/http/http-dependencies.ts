import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { Commands } from '../../agent/commands/commands.ts'
import type { Conversations } from '../../agent/conversations.ts'
import type { Learning } from '../../agent/learning.ts'
import type { Finders } from '../../assets/finder/create-finders.ts'
import type { OpenAssets } from '../../assets/open-assets.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Costs } from '../../cost/costs.ts'
import type { CostPeriod, CostReport } from '../../cost/report.ts'
import type { MemoryCounts } from '../../memory/count-memories.ts'
import type { FamiliarMemory } from '../../memory/familiar-memory.ts'
import type { MemoryExport } from '../../memory/transfer/export-memories.ts'
import type { ImportOutcome, MemoryImport } from '../../memory/transfer/import-memories.ts'
import type { MonitorState } from '../../monitor/monitor.ts'
import type { AccessTokens, Bearer } from '../../policy/access-tokens.ts'
import type { OneTimeLinks } from '../../policy/one-time-links.ts'
import type { RateLimiter } from '../../policy/rate-limiter.ts'
import type { User, Users } from '../../policy/users/users.ts'
import type { TriggerRunReply } from '../../protocol/trigger-api.ts'
import type { Redactor } from '../../secrets/redactor.ts'
import type { MediaStore } from '../../sessions/media-store.ts'
import type { Capabilities } from '../../tools/capabilities/capabilities.ts'
import type { ClientTelemetry } from '../../tools/client-telemetry.ts'
import type { ToolCatalog } from '../../tools/contract/tool-catalog.ts'
import type { McpTools } from '../../tools/mcp/mcp-tools.ts'
import type { Schedules } from '../../tools/schedules/schedules.ts'
import type { Skills } from '../../tools/skills/skills.ts'
import type { Speaker } from '../../voice/speaker.ts'
import type { Transcriber } from '../../voice/transcriber.ts'
import type { McpEndpoint } from '../mcp/http/mcp-endpoint.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { TelegramDesk } from '../telegram/telegram-desk.ts'
import type { HttpHome } from './http-home.ts'
import type { HttpObservation } from './http-observation.ts'
import type { OpenAiServices } from './openai/openai-services.ts'
import type { OpenedLink } from './opened-link.ts'
import type { HttpPage } from './page/http-page.ts'
import type { SecretLinks } from './secret-links/secret-links.ts'
import type { WebhookCall, Webhooks } from './webhook-call.ts'

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
  /** What a webhook brings. */
  maxHookBytes?: number
}

/** Memory, and what belongs to it but is not asked of it: learning, transfer, figures. */
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
  /** Where a body waits that takes longer to work through than it may take to arrive. */
  spoolDirectory: string
  /** Days are days there. */
  timeZone: string
}

/** Tools that run without being asked. */
export interface HttpTriggers {
  webhooks: Webhooks
  /** Newest first; what is not the user's own does not exist. */
  runs(userId: string, query: { tool?: string; limit: number }): Promise<TriggerRunReply[]>
  /** Makes a new secret for the callers of a tool's webhook, in place of the one before. Shown this once. */
  makeHookSecret(userId: string, tool: string): Promise<string>
}

/** Addresses of one use, and what can be done at them. */
interface HttpLinks {
  store: Pick<OneTimeLinks, 'peek'>
  secrets: Pick<SecretLinks, 'asked' | 'give'>
}

/** Who uses this home, for its owner. */
export interface HttpUsers {
  users: Users
  /** Exports first; see there. */
  removeUser(request: {
    name: string
    directory: string
    signal: AbortSignal
  }): Promise<{ user: User; directory: string; files: string[] }>
  /** Their tokens. Absent: there are no routes for them. Whoever makes one tells the redactor. */
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
  /** Absent: MCP clients find nobody here. It is closed with the streams. */
  mcpServer?: McpEndpoint
  /** Absent: there are no routes for them. */
  skills?: Pick<Skills, 'list' | 'show' | 'enable' | 'disable' | 'reload'>
  /** Absent: there are no routes for them. */
  voice?: { speaker: Speaker; transcriber: Transcriber }
  /** Absent: there are no routes for it. */
  telegram?: TelegramDesk
  /** Absent: what clients tell of themselves is not taken. */
  telemetry?: Pick<ClientTelemetry, 'keep'>
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
  /** Absent where the application is called without a socket. */
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
