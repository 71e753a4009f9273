import type { Json } from '../../../protocol/json.ts'
import type { ToolConfigField } from '../tool-catalog.ts'

export type JsonObject = { [key: string]: Json }

export type ParameterType = 'string' | 'integer' | 'float' | 'number' | 'boolean' | 'array' | 'object'

export interface ToolParameter {
  name: string
  type: ParameterType
  description: string
  isRequired: boolean
  /** Absent where it has none. */
  default?: Json
  /** Absent where every value of the type will do. */
  choices?: Json[]
  /** Of a list: the JSON Schema of its entries, where the manifest has one. */
  items?: JsonObject
}

export type ToolTrigger =
  | { type: 'on_demand' }
  | { type: 'cron'; schedule: string; prompt: string }
  | { type: 'webhook'; prompt: string | null }

/** What a `manifest.json` says, checked and with its defaults. Made by `readManifest` alone. */
export interface ToolManifest {
  name: string
  description: string
  /** More of what it is for, where it tells: for whoever looks for a tool, never for the model's requests. */
  documentation: string | null
  version: string | null
  category: string | null
  /** An emoji or the name of an icon. */
  icon: string | null
  trigger: ToolTrigger
  parameters: readonly ToolParameter[]
  configuration: readonly ToolConfigField[]
  output: ToolOutputPlan
  network: { mode: 'none' | 'bridge' | 'host'; hosts: readonly string[] }
  limits: { memoryBytes: number; timeoutMs: number; isWritable: boolean }
  costBudget: number | null
  /** `argument`: base64 in its argument and JSON on standard input. `stdin`: on standard input alone. */
  input: 'argument' | 'stdin'
  /** Whether what a run without anybody asking brings is told to the user at once. */
  notifies: boolean
  /** Everything as it is written, unknown keys among it. */
  written: JsonObject
}

interface ToolOutputPlan {
  /** False: the user sees the card, and the text is hidden. */
  synthesize: boolean
  ephemeral: boolean
  /** Whose words its text is. Only a tool without a network and a webhook may be anything but `untrusted`. */
  label: 'internal' | 'untrusted'
  card: { isEnabled: boolean; title: string | null; accentColor: string | null; backgroundColor: string | null }
}

/** Beside what was read: what had to be left out or held to a limit. */
export type ManifestReading = { ok: true; manifest: ToolManifest; notes: string[] } | { ok: false; problem: string }
