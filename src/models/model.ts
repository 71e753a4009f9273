import { isRecord, parseAnyJson } from '../base/json.ts'
import type { CostRates } from '../base/money.ts'
import type {
  AssistantPart,
  Json,
  MediaPart,
  ModelMessage,
  StopReason,
  ThinkingPart,
  ToolChoice,
  ToolDefinition,
  Usage,
} from '../protocol/messages.ts'
import { dropAddedNulls } from './strict-schema.ts'
import { taggedText } from './thinking-tags.ts'

export type CacheLayer = 'stable' | 'semi_stable' | 'dynamic'

export interface SystemBlock {
  name: string
  layer: CacheLayer
  text: string
}

export interface ModelRequest {
  /** Ordered stable → semi_stable; the last block of each stability is a cache boundary. */
  system: SystemBlock[]
  messages: ModelMessage[]
  tools: ToolDefinition[]
  /** The response must call a tool: any, or this one. A wire that cannot enforce it ignores it. */
  toolChoice?: ToolChoice
  maxTokens: number
  /** The bytes behind a media part; adapters call it only for parts that they send. */
  loadMedia(hash: string): Promise<Uint8Array>
  /** Called at every sign of activity from the model, including those without an event (tool arguments, pings). */
  onActivity?(): void
}

export interface ModelResponse {
  parts: AssistantPart[]
  stopReason: StopReason
  /** All zero if the provider sent none; the caller then estimates it. */
  usage: Usage
  /** For the user, beside the reply: why it is incomplete, or was written without tools. */
  notice?: string
}

export const filteredNotice = 'The provider’s content filter ended this reply.'

export type ModelStreamEvent =
  | { type: 'text_delta'; text: string }
  | { type: 'thinking_delta'; text: string }
  /** The deltas so far are void: text turned out to be thinking. They are sent again, in the right kind. */
  | { type: 'restart' }
  | { type: 'finished'; response: ModelResponse }

export interface ModelInfo {
  /** `provider/name`, as config and ledger write it. */
  id: string
  maxTokens: number
  maxContextTokens: number
  supportsVision: boolean
  /** It works by sentence forms: it cannot summarize, extract or build. */
  offline?: true
  /** Null means unpriced. */
  costPerMtok: CostRates | null
}

/**
 * One model, regardless of its provider.
 *
 * `stream` yields deltas and then exactly one `finished`, or throws a ModelError. It makes one request: retries belong
 * to the caller. It must not touch the database, must stop as soon as the signal aborts, and keeps no state between
 * calls, except what it learned about its server. The deltas after the last `restart` joined equal the text of the
 * finished parts.
 */
export interface LanguageModel {
  readonly info: ModelInfo
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelStreamEvent>
}

/**
 * The parts of an earlier response that are sent to a provider again: only its own thinking, no empty text, and no
 * thinking at the end.
 */
export function replayableParts(options: {
  parts: readonly AssistantPart[]
  provider: string
  canReplay(part: ThinkingPart): boolean
}): AssistantPart[] {
  const { parts, provider, canReplay } = options
  const kept = parts.filter((part) => {
    const isOwn = part.replay?.provider === provider
    if (isOwn && taggedText(part)) return true
    if (part.type === 'thinking') return isOwn && canReplay(part)
    return part.type === 'tool_call' || part.text.trim() !== '' || (part.text === '' && isOwn)
  })
  // Providers reject a response that ends in thinking, which a stopped turn can leave behind.
  const last = kept.findLastIndex((part) => part.type !== 'thinking')
  // Thinking that came in tags is sent back in the text, where the model's own template looks for it.
  return kept.slice(0, last + 1).map((part) => taggedText(part) ?? part)
}

/** The last change to a call's arguments: removes the nulls that a `complete` schema required. */
export function createInputSettler(options: {
  tools: readonly ToolDefinition[]
  strictTools: boolean
}): (toolName: string, input: Json) => Json {
  const { tools, strictTools } = options
  return (toolName, input) => {
    const tool = tools.find((candidate) => candidate.name === toolName)
    const wasStrict = tool && (tool.strict || strictTools)
    return wasStrict ? dropAddedNulls(tool.inputSchema, input) : input
  }
}

/** The content of an attachment: its bytes, or a line of text that says why they are missing. */
type MediaContent = { type: 'file'; mediaType: string; name: string; base64: string } | { type: 'note'; text: string }

const pictureTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export type MediaContents = ReadonlyMap<MediaPart, MediaContent>

/** Reads the bytes only if the model is sent them. A file that cannot be read becomes a note, never an error. */
export async function readAllMedia(
  { messages, loadMedia }: Pick<ModelRequest, 'messages' | 'loadMedia'>,
  options: { info: ModelInfo; readsPdf: boolean },
): Promise<MediaContents> {
  const contents = new Map<MediaPart, MediaContent>()
  for (const message of messages) {
    if (message.role !== 'user') continue
    for (const part of message.parts) {
      if (part.type === 'media') contents.set(part, await readMedia(part, { ...options, loadMedia }))
    }
  }
  return contents
}

async function readMedia(
  part: MediaPart,
  options: { info: ModelInfo; readsPdf: boolean; loadMedia: ModelRequest['loadMedia'] },
): Promise<MediaContent> {
  const { info, readsPdf, loadMedia } = options
  const reason = whyNotSent(part, info, readsPdf)
  if (reason) return part.reading?.text === undefined ? note(part, reason) : { type: 'note', text: part.reading.text }
  try {
    const bytes = await loadMedia(part.hash)
    const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
    return { type: 'file', mediaType: part.mediaType, name: part.name, base64 }
  } catch {
    return note(part, 'its file is missing')
  }
}

function whyNotSent({ mediaType, reading }: MediaPart, info: ModelInfo, readsPdf: boolean): string | undefined {
  // A PDF whose beginning was requested must not be sent whole: that would cost what the limit saves.
  const isWholePdf = mediaType === 'application/pdf' && reading?.state !== 'partial' && reading?.state !== 'unreadable'
  const isPicture = mediaType.startsWith('image/')
  if (isPicture && !info.supportsVision) return 'this model cannot see images'
  if (isPicture && !pictureTypes.has(mediaType)) return `models cannot read ${mediaType}`
  if (isPicture || (isWholePdf && readsPdf && info.supportsVision)) return undefined
  return 'this model cannot read this type of file'
}

function note({ name, mediaType, bytes }: MediaPart, reason: string): MediaContent {
  return { type: 'note', text: `[Attached: ${name} (${mediaType}, ${bytes} bytes). Not shown: ${reason}.]` }
}

export type ModelErrorCode =
  | 'aborted'
  | 'rate_limited'
  | 'overloaded'
  | 'unreachable'
  | 'cut'
  | 'rejected'
  /** The request does not fit into the model's window. */
  | 'too_long'
  /** The model or its server does not support tools. */
  | 'no_tools'
  | 'timeout'

/** Why a call to a model gave no response. `retryable` follows from the status alone; the caller decides how often. */
export class ModelError extends Error {
  readonly code: ModelErrorCode
  readonly retryable: boolean
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined

  constructor(
    code: ModelErrorCode,
    message: string,
    options: { retryable: boolean; status?: number | undefined; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.name = 'ModelError'
    this.code = code
    this.retryable = options.retryable
    this.status = options.status
    this.retryAfterMs = options.retryAfterMs
  }
}

export function brokenOff(modelId: string, message: string): ModelError {
  return new ModelError('cut', `${modelId}: ${message}`, { retryable: true })
}

/** Adds a delta to the parts of a response. Thinking must name its provider: it is never sent to another one. */
export function appendDelta(parts: AssistantPart[], provider: string, type: 'text' | 'thinking', text: string): void {
  const last = parts.at(-1)
  if (last?.type === type) last.text += text
  else if (type === 'text') parts.push({ type, text })
  else parts.push({ type, text, replay: { provider, metadata: {} } })
}

export const purposes = ['primary', 'fast', 'builder', 'vision', 'compaction', 'subagent'] as const
export type Purpose = (typeof purposes)[number]

/**
 * Which model serves which purpose. The first of a list is tried first, the rest are its fallbacks in order. A list is
 * never empty: without configuration it contains the offline model.
 */
export interface Models {
  route(purpose: Purpose, source?: string): readonly LanguageModel[]
  /** By `provider/name`; undefined if no such model is configured. */
  byId(id: string): LanguageModel | undefined
  list(): readonly LanguageModel[]
}

export type ToolCallIds = ReturnType<typeof createToolCallIds>

/**
 * Gives each call of a response an id that is unique in the conversation. Some servers send no id, or the same one in every response. Others use characters that the next provider in the route
 * rejects. A valid id stays as it is.
 */
export function createToolCallIds(messages: readonly ModelMessage[]) {
  const taken = new Set<string>()
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const part of message.parts) if (part.type === 'tool_call') taken.add(part.id)
  }
  return {
    take(wanted: string | undefined): string {
      const base = (wanted ?? '').replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 56) || 'call'
      let id = wanted ? base : `${base}_1`
      for (let next = 2; taken.has(id); next += 1) id = `${base}_${next}`
      taken.add(id)
      return id
    },
  }
}

/** Arguments from a provider, as text or as a value. Text that is not JSON stays text, for the caller to reject. */
export function readToolInput(raw: Json | undefined): Json {
  if (raw === undefined || raw === null) return {}
  if (typeof raw !== 'string') return raw
  if (raw.trim() === '') return {}
  const parsed = parseAnyJson(raw)
  return parsed.ok ? parsed.value : raw
}

/** Providers accept only objects as the arguments of an earlier call. */
export function toObjectInput(input: Json): { [key: string]: Json } {
  return isRecord(input) ? input : { invalid_arguments: input }
}
