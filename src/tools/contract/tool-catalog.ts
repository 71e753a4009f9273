import type { Card } from '../../protocol/card.ts'
import type { Json } from '../../protocol/json.ts'
import type { ToolCallRow } from '../../storage/tables.ts'
import type { Telemetry } from './telemetry.ts'

export type ToolStatus = 'system' | 'available' | 'connected' | 'disabled' | 'building' | 'error'

/** One line of the list. */
export interface ToolSummary {
  name: string
  description: string
  version: string | null
  category: string | null
  /** An emoji or the name of an icon. */
  icon: string | null
  kind: 'builtin' | 'contract' | 'mcp'
  trigger: 'on_demand' | 'cron' | 'webhook'
  status: ToolStatus
  /** With `error`, `disabled` or `available`: what is wrong or missing, where, and what to do. */
  problem: string | null
}

export interface ToolConfigField {
  key: string
  description: string
  isSecret: boolean
  isRequired: boolean
  default: Json
}

export interface ToolDetails extends ToolSummary {
  directory: string | null
  parameters: Json
  configuration: readonly ToolConfigField[]
  /** Where it may go: what it declares, and what the owner has added. */
  network: { mode: 'none' | 'bridge' | 'host'; declared: readonly string[]; allowed: readonly string[] }
  limits: { memoryBytes: number; processes: number; timeoutMs: number; isWritable: boolean } | null
  /** What it asked for and was refused, newest last, so that the owner can allow it. */
  refusedHosts: readonly string[]
  /** Settings reach it in its argument, as the published contract has it (TOOL-2). */
  readsArgument: boolean
  notes: readonly string[]
}

/** One run, as its caller sees it. Secrets are taken out; the card is rebuilt from what is allowed. */
export interface ToolRun {
  ok: boolean
  text: string | null
  html: string | null
  title: string | null
  error: string | null
  budgetRemaining: number | null
  card: Card | null
  notes: readonly string[]
  durationMs: number
  driver: string | null
  /** What it wrote to standard error, cut and cleaned. */
  log: string
  outcome: ToolCallRow['outcome']
  /** What it asks to be given at its next run; absent where it asked for nothing. */
  state?: Json
  /** Whether there is anything to tell; absent where it leaves that to its manifest. */
  notify?: boolean
}

/**
 * Every tool that there is, with its settings and its past calls: what the command line, the API and the page ask.
 * Whatever has no such name is undefined or `not_found`; a tool that is broken is listed with its reason.
 */
export interface ToolCatalog {
  list(userId: string): Promise<ToolSummary[]>
  show(userId: string, name: string): Promise<ToolDetails | undefined>
  /** Runs a tool of a folder by hand. Never throws for what the tool does. */
  run(request: {
    userId: string
    name: string
    params: Json
    telemetry?: Partial<Telemetry>
    caller: ToolCallRow['caller']
    /** Of a run that nobody asked for: what the run before left. The tool finds it in `params._state`. */
    state?: Json
    signal: AbortSignal
  }): Promise<ToolRun>
  /** Secrets are `***`. */
  config(userId: string, name: string): Promise<Record<string, Json>>
  /** `***` keeps the secret that is set. An unknown key is a `bad_request` that names it, and nothing is written. */
  setConfig(userId: string, name: string, values: Record<string, Json>): Promise<void>
  deleteConfig(userId: string, name: string, key: string): Promise<void>
  /** Whether everything is set that it needs. Runs nothing. */
  test(userId: string, name: string): Promise<{ ok: boolean; message: string }>
  /**
   * Also the owner's word for the tool as it is now (SEC-14). A new tool needs it only where somebody else could have
   * written it, or for this machine's own network. From then on every change of its description, parameters, trigger,
   * network, hosts, settings, input or label needs it again, and a change of its code where somebody else can write it.
   */
  setEnabled(name: string, isEnabled: boolean): Promise<void>
  /** In place of what the owner allowed before. Only for the local command line (SEC-4). */
  allowHosts(name: string, hosts: readonly string[]): Promise<void>
  /** Looks again at the folders, and at what was decided about them by another process. */
  reload(): Promise<void>
  calls(userId: string, query: { tool?: string; limit: number }): Promise<ToolCallRow[]>
}
