import { readdirSync, readFileSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import { toDisplayText } from '../../base/text.ts'
import type { DecayPolicy } from '../../memory/decay.ts'
import type { EmbeddingSettings } from '../../memory/embedding/embedders.ts'
import type { Purpose } from '../../models/model.ts'
import type { ProviderSettings } from '../../models/provider-connection.ts'
import type { AllowedHost } from '../../security/network/destinations.ts'
import type { Plan } from '../../security/users.ts'
import type { SharedSettings, TelemetrySettings } from './load-config.ts'
import type { PromptProfile, Settings } from './settings-schema.ts'

/** Each list contains existing `provider/model` ids: the first is tried first, the rest are its fallbacks. */
type RoutesConfig = Partial<Record<Purpose, string[]>> & {
  /** For messages of one source (`telegram`, `http`, …), instead of `primary`. */
  sources: Record<string, string[]>
}

interface ContextConfig {
  /** Names of files in the workspace. */
  tiers: Record<PromptProfile, string[]>
  /** The prompt profile for messages of a source; `full` by default. */
  sources: Record<string, PromptProfile>
}

interface WebSearchSettings {
  provider: 'brave' | 'tavily' | 'searxng'
  apiKey: string | null
  baseUrl: string | null
}

/** Keys are resolved: pass them to the redactor. */
interface ToolSettings {
  enabled: boolean
  /** Single tools that are switched off, by name. */
  disabled: string[]
  directories: string[]
  exec: { host: 'ask' | 'never' }
  /** Null if none is configured. */
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
  | { command: string; args: string[]; environment: string[]; sampling?: boolean | undefined }
  | {
      url: string
      headers: Record<string, string>
      oauth?: { clientId: string; clientSecret: string | null }
      sampling?: boolean | undefined
    }

/** The complete configuration, checked and with its defaults. Made by `loadConfig` only. */
export interface Config {
  /** Their keys are resolved: pass those to the redactor before anything is logged. */
  providers: ProviderSettings[]
  routes: RoutesConfig
  budget: CamelKeys<Settings['budget']>
  agent: { name: string; maxRounds: number; context: ContextConfig }
  sessions: CamelKeys<Settings['sessions']>
  subagents: CamelKeys<Settings['subagents']>
  clientTools: CamelKeys<Settings['client_tools']>
  compaction: CamelKeys<Settings['compaction']>
  http: CamelKeys<Settings['http']>
  /** The URL may contain a password: pass it to the redactor. */
  database: CamelKeys<Settings['database']>
  /** Hosts of the owner's network that may be called. */
  egress: { allowedHosts: AllowedHost[] }
  log: Settings['log']
  tools: ToolSettings
  capabilities: CamelKeys<Settings['capabilities']>
  assets: CamelKeys<Settings['assets']>
  skills: Settings['skills']
  sandbox: { driver: Settings['sandbox']['driver']; containerSocket: string | null; pythonIndexUrl: string | null }
  policy: { destinations: string[]; approvalMinutes: number }
  /** The values of headers are resolved. */
  mcp: { servers: Record<string, McpServerSettings> }
  /** The embedding key is resolved too. */
  memory: { decay: DecayPolicy; conversations: boolean; extraction: boolean; embedding: EmbeddingSettings }
  /** Null if it is not set up. Its token is resolved. */
  telegram: TelegramSettings | null
  /** Null if there is no callback. */
  callback: CallbackSettings | null
  voice: { transcription: TranscriptionSettings }
  telemetry: TelemetrySettings
  /** Null if there is no shared place. */
  shared: SharedSettings | null
  /** The path of the secrets' key file, if the environment sets it. */
  keyFile: string | null
  /** By name, including the built-in ones. */
  tiers: Readonly<Record<string, Plan>>
  /** The owner's bearer token if the environment sets one; otherwise Familiar makes its own. */
  token: string | null
}

/** Settings that are read once, when the daemon starts. A change takes effect at the next start. */
export interface RestartConfig
  extends Pick<Config, 'database' | 'http' | 'keyFile' | 'sandbox' | 'shared' | 'telemetry' | 'token'> {
  assets: Pick<Config['assets'], 'roots'>
  /** Only whether there is one. */
  callback: object | null
  capabilities: Pick<Config['capabilities'], 'maxConcurrentBuilds'>
  memory: Pick<Config['memory'], 'embedding'>
  sessions: Pick<Config['sessions'], 'maxConcurrentTurns'>
  telegram: Pick<TelegramSettings, 'token' | 'apiRoot'> | null
  tools: Pick<ToolSettings, 'directories'>
}

/** Settings that take effect on a reload. They are given as a function and read at every use. */
export interface ReloadableConfig extends Omit<Config, keyof RestartConfig> {
  assets: Omit<Config['assets'], 'roots'>
  callback: CallbackSettings | null
  capabilities: Omit<Config['capabilities'], 'maxConcurrentBuilds'>
  memory: Omit<Config['memory'], 'embedding'>
  sessions: Omit<Config['sessions'], 'maxConcurrentTurns'>
  telegram: Omit<TelegramSettings, 'token' | 'apiRoot'> | null
  tools: Omit<ToolSettings, 'directories'>
}

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

type CamelKeys<T> = { [Key in keyof T as Key extends string ? CamelCase<Key> : Key]: T[Key] }

/** `per_day_usd` → `perDayUsd`, for the keys of this table only: keys inside its values may be user-defined names. */
export function camelSettings<T extends object>(table: T): CamelKeys<T> {
  const entries = Object.entries(table).map(([key, value]) => [
    key.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase()),
    value,
  ])
  return Object.fromEntries(entries) as CamelKeys<T>
}

/** The source of config files. A draft can override them, to check it before it is written. */
export interface ConfigFiles {
  /** Undefined if there is no such file; throws if it cannot be read. */
  read(path: string): string | undefined
  /** The names in a directory, sorted; empty if there is none. */
  list(directory: string): string[]
  /** Whether other users may read the file. */
  isExposed(path: string): boolean
}

export const diskFiles: ConfigFiles = {
  read: (path) => unlessAbsent(() => readFileSync(path, 'utf8')),
  list: (directory) => (unlessAbsent(() => readdirSync(directory)) ?? []).sort(),
  isExposed: (path) => process.platform !== 'win32' && ((unlessAbsent(() => statSync(path).mode) ?? 0) & 0o077) !== 0,
}

function unlessAbsent<T>(task: () => T): T | undefined {
  try {
    return task()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw cause
  }
}

export interface ConfigProblem {
  /** The file's path; `environment` for an environment variable. */
  file: string
  /** Null if there are no lines: the environment, an unreadable file. */
  line: number | null
  /** Known for a syntax error only. */
  column?: number
  /** Dotted, as in the file (`budget.per_day_usd`); empty for a syntax error. */
  key: string
  message: string
}

/** One line each: `familiar.toml:12: budget.per_day_usd: must be a number (found "lots")`. */
export function formatProblems(problems: readonly ConfigProblem[], home: string): string[] {
  return problems.map((problem) => {
    const file = problem.file.startsWith('/') ? relative(home, problem.file) || problem.file : problem.file
    const place = [file, problem.line, problem.column].filter((part) => part !== null && part !== undefined).join(':')
    const text = [place, problem.key, problem.message].filter((part) => part !== '').join(': ')
    return toDisplayText(text).replaceAll('\n', ' ')
  })
}

/** By file, from top to bottom. */
export function sortProblems(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return problems.toSorted((a, b) => {
    if (a.file !== b.file) return a.file < b.file ? -1 : 1
    return (a.line ?? 0) - (b.line ?? 0)
  })
}
