import type { CostRates } from '../cost/money.ts'
import type { AssistantPart, ModelMessage, StopReason, Usage } from '../protocol/message.ts'
import type { ToolDefinition } from '../protocol/tool.ts'

export type { CostRates }

export type CacheTier = 'stable' | 'semi_stable' | 'dynamic'

export interface SystemBlock {
  name: string
  tier: CacheTier
  text: string
}

export interface ModelRequest {
  /** Ordered stable → semi_stable; the last block of each tier is a cache boundary. */
  system: SystemBlock[]
  messages: ModelMessage[]
  tools: ToolDefinition[]
  maxTokens: number
  /** The bytes behind a media part; adapters call it only for parts that they send. */
  loadMedia(hash: string): Promise<Uint8Array>
  /** Told of every sign of life from the model, also of those that make no event (tool arguments, pings). */
  onActivity?(): void
}

export interface ModelResponse {
  parts: AssistantPart[]
  stopReason: StopReason
  usage: Usage
}

export type ModelStreamEvent =
  | { type: 'text_delta'; text: string }
  | { type: 'thinking_delta'; text: string }
  | { type: 'finished'; response: ModelResponse }

export interface ModelInfo {
  /** `provider/name`, as config and ledger write it. */
  id: string
  maxTokens: number
  maxContextTokens: number
  supportsVision: boolean
  /** It works by form, not by language: it cannot summarise, extract or build. */
  offline?: true
  /** Null is unpriced. */
  costPerMtok: CostRates | null
}

/**
 * One model, whoever serves it.
 *
 * `stream` yields deltas and then exactly one `finished`, or throws a ModelError. It makes one request: retries belong
 * to the caller. It must not touch the database, must stop as soon as the signal aborts, and keeps nothing between
 * calls. The deltas joined equal the text of the finished parts.
 */
export interface LanguageModel {
  readonly info: ModelInfo
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelStreamEvent>
}
