import type { Generated } from 'kysely'

/** The tools that Familiar builds itself (CAP): what there is, its versions, what it keeps, and how it came to be. */
export interface CapabilityTables {
  capabilities: CapabilityTable
  capability_versions: CapabilityVersionRow
  capability_storage: CapabilityStorageRow
  capability_vectors: CapabilityVectorRow
  builds: BuildTable
  build_events: BuildEventRow
  build_questions: BuildQuestionRow
  build_files: BuildFileRow
}

export interface CapabilityRow {
  id: string
  user_id: string
  name: string
  description: string
  state: 'building' | 'active' | 'failed' | 'disabled'
  origin: 'built' | 'written' | 'imported'
  /** The one that serves; null before the first. */
  version: number | null
  input_schema: string
  tags: string
  /** Hosts, secrets and storage that the version declares. */
  permissions: string
  /** With `failed` and `disabled`: why. */
  problem: string | null
  calls: number
  failures: number
  last_called_at: number | null
  last_error: string | null
  /** What the newest failed call was made with: the example that a repair must pass. */
  failing_input: string | null
  created_at: number
  updated_at: number
}
interface CapabilityTable extends Omit<CapabilityRow, 'calls' | 'failures'> {
  calls: Generated<number>
  failures: Generated<number>
}

export interface CapabilityVersionRow {
  capability_id: string
  version: number
  manifest: string
  /** Of every path and byte of its directory. */
  hash: string
  build_id: string | null
  created_at: number
}

interface CapabilityStorageRow {
  capability_id: string
  key: string
  value: string
  updated_at: number
}

interface CapabilityVectorRow {
  capability_id: string
  model: string
  text_hash: string
  /** Two, one after the other: of what it says of itself, and of that together with how it is asked for. */
  vector: Uint8Array
}

export interface BuildRow {
  id: string
  user_id: string
  capability_id: string
  kind: 'build' | 'repair'
  state: 'running' | 'complete' | 'failed' | 'stopped'
  /** What was asked for. */
  request: string
  /** Where it was asked for; null where nobody spoke. */
  session_id: string | null
  call_id: string | null
  error: string | null
  /** Whether its end was told in the conversation that asked for it. */
  is_told: 0 | 1
  created_at: number
  updated_at: number
  ended_at: number | null
}
interface BuildTable extends Omit<BuildRow, 'is_told'> {
  is_told: Generated<0 | 1>
}

export interface BuildEventRow {
  build_id: string
  seq: number
  type: 'progress' | 'question' | 'answer' | 'secret_request' | 'complete' | 'error'
  data: string
  at: number
}

export interface BuildQuestionRow {
  /** The call that asks: made again after a restart, it finds its question. */
  id: string
  build_id: string
  kind: 'question' | 'secret'
  question: string
  /** With `secret`: the name that it is kept under. */
  secret: string | null
  state: 'asked' | 'answered' | 'expired'
  /** Never of a secret. */
  answer: string | null
  asked_at: number
  expires_at: number
}

interface BuildFileRow {
  build_id: string
  path: string
  content: string
}
