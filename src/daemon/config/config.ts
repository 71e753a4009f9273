import type { AllowedHost } from '../../egress/destination.ts'
import type { DecayPolicy } from '../../memory/decay.ts'
import type { EmbeddingSettings } from '../../memory/embedding/embedding-settings.ts'
import type { ProviderSettings } from '../../models/model-settings.ts'
import type { Purpose } from '../../models/models.ts'
import type { Tier } from '../../policy/users/tier.ts'
import type { CamelKeys } from './camel-keys.ts'
import type { SharedSettings } from './read-shared.ts'
import type { TelemetrySettings } from './read-telemetry.ts'
import type { ContextTier, Settings } from './settings-schema.ts'

/** Each list holds `provider/model` ids that exist: the first is tried first, the rest are its fallbacks. */
type RoutesConfig = Partial<Record<Purpose, string[]>> & {
  /** For messages of one source (`telegram`, `http`, …), in place of `primary`. */
  sources: Record<string, string[]>
}

interface ContextConfig {
  /** Names of files in the workspace. */
  tiers: Record<ContextTier, string[]>
  /** The tier for messages of a source; `full` for those that are not named. */
  sources: Record<string, ContextTier>
}

interface WebSearchSettings {
  provider: 'brave' | 'tavily' | 'searxng'
  apiKey: string | null
  baseUrl: string | null
}

/** Keys are resolved: hand them to the redactor. */
interface ToolSettings {
  enabled: boolean
  directories: string[]
  exec: { host: 'ask' | 'never' }
  /** Null where none is configured. */
  webSearch: WebSearchSettings | null
  browser: { executable: string | null }
  tts: { provider: 'system' | 'local' | 'elevenlabs' | 'off'; apiKey: string | null; voice: string | null }
}

interface TelegramSettings {
  token: string
  allowedIds: number[]
  apiRoot: string
  repeatUnknown: boolean
}

interface CallbackSettings {
  url: string
  secret: string
  channels: string[]
}

interface TranscriptionSettings {
  provider: 'auto' | 'local' | 'openai-compatible' | 'off'
  baseUrl: string | null
  apiKey: string | null
  model: string | null
}

type McpServerSettings =
  | { command: string; args: string[]; environment: string[] }
  | { url: string; headers: Record<string, string> }

/** Everything that is configured, checked and with its defaults. Made by `loadConfig` alone. */
export interface Config {
  /** Their keys are resolved: hand those to the redactor before anything is logged. */
  providers: ProviderSettings[]
  routes: RoutesConfig
  budget: CamelKeys<Settings['budget']>
  agent: { name: string; maxRounds: number; context: ContextConfig }
  sessions: CamelKeys<Settings['sessions']>
  subagents: CamelKeys<Settings['subagents']>
  clientTools: CamelKeys<Settings['client_tools']>
  compaction: CamelKeys<Settings['compaction']>
  http: CamelKeys<Settings['http']>
  /** The URL may hold a password: hand it to the redactor. */
  database: CamelKeys<Settings['database']>
  /** Hosts of the owner's own network that may be called. */
  egress: { allowedHosts: AllowedHost[] }
  log: Settings['log']
  tools: ToolSettings
  capabilities: CamelKeys<Settings['capabilities']>
  assets: CamelKeys<Settings['assets']>
  skills: Settings['skills']
  sandbox: { driver: Settings['sandbox']['driver']; containerSocket: string | null }
  policy: { destinations: string[]; approvalMinutes: number }
  /** The values of headers are resolved. */
  mcp: { servers: Record<string, McpServerSettings> }
  /** The key of the embedding is resolved, too. */
  memory: { decay: DecayPolicy; conversations: boolean; extraction: boolean; embedding: EmbeddingSettings }
  /** Null where it is not set up. Its token is resolved. */
  telegram: TelegramSettings | null
  /** Null where nobody is to be called. */
  callback: CallbackSettings | null
  voice: { transcription: TranscriptionSettings }
  telemetry: TelemetrySettings
  /** Null where the home is the only place. */
  shared: SharedSettings | null
  /** Where the key of the secrets lies, if the environment says so. */
  keyFile: string | null
  /** By name; the built-in ones are among them. */
  tiers: Readonly<Record<string, Tier>>
  /** The owner's bearer token where the environment sets one; otherwise Familiar makes its own. */
  token: string | null
}
