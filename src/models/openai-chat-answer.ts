import { isRecord, parseAnyJson } from '../base/json.ts'
import type { AssistantPart, Json, StopReason, Usage } from '../protocol/messages.ts'
import {
  appendDelta,
  filteredNotice,
  type ModelResponse,
  type ModelStreamEvent,
  readToolInput,
  type ToolCallIds,
} from './model.ts'

type Fields = { [key: string]: Json | undefined }

/** A piece of a tool call. Servers differ in which of these they send, and in which pieces. */
export interface ToolCallPiece {
  index: number | undefined
  id: string | undefined
  name: string | undefined
  /** Text, a part of it or, from some servers, the parsed arguments. */
  input: Json | undefined
  signature: string | undefined
}

/** The fields in which servers put thinking; it is sent back under the same name. */
export const thinkingFields = ['reasoning_content', 'reasoning', 'reasoning_text'] as const
export type ThinkingField = (typeof thinkingFields)[number]

interface Source {
  url: string
  title: string | undefined
}

/** The content of one chunk of the stream, by precedence. */
export interface ChatChunk {
  error: Json | undefined
  said: { type: 'text' | 'thinking'; text: string }[]
  thinkingField: ThinkingField | undefined
  /** OpenRouter's own form of thinking, which must be sent back unchanged. */
  reasoningDetails: Fields[]
  refused: boolean
  calls: ToolCallPiece[]
  finishReason: string | undefined
  usage: Fields | undefined
  /** Pages that the response is based on. Each chunk that names any names all of them. */
  sources: Source[]
}

/**
 * The data of one event; undefined if it is not JSON. Parsed by hand instead of by a schema, because there is one for
 * every token; and leniently, because servers differ: an unexpected shape counts as not sent.
 *
 * `isWhole`: the response came in one piece, under `message`. In a stream some servers repeat the text so far there.
 */
export function readChatChunk(data: string, { isWhole = false } = {}): ChatChunk | undefined {
  const parsed = parseAnyJson(data)
  if (!parsed.ok) return undefined
  const fields = record(parsed.value)
  const choice = record(list(fields?.choices)[0])
  const delta = record(choice?.delta) ?? (isWhole ? record(choice?.message) : undefined)
  const thinkingField = thinkingFields.find((name) => text(delta?.[name]) !== undefined)
  const reasoningDetails = records(delta?.reasoning_details)
  return {
    error: errorOf(fields),
    said: delta ? readSaid(delta, { thinkingField, reasoningDetails }) : [],
    thinkingField,
    reasoningDetails,
    refused: text(delta?.refusal) !== undefined,
    calls: readCalls(delta).map(readPiece),
    finishReason: text(choice?.finish_reason),
    // Groq uses its own name, Moonshot puts it into the choice.
    usage: record(fields?.usage) ?? record(record(fields?.x_groq)?.usage) ?? record(choice?.usage),
    sources: readSources(fields, delta),
  }
}

/** Errors are under `error`, in an object that says it is one, in MiniMax's status, or alone in place of a response. */
function errorOf(fields: Fields | undefined): Json | undefined {
  if (!fields) return undefined
  if (fields.error) return fields.error
  if (fields.object === 'error') return fields as Json
  const status = record(fields.base_resp)
  if (typeof status?.status_code === 'number' && status.status_code !== 0) {
    return { code: status.status_code, message: text(status.status_msg) ?? 'no reason given' }
  }
  const message = text(fields.message) ?? text(fields.detail)
  return message !== undefined && fields.choices === undefined && !fields.usage
    ? { message, code: fields.code ?? fields.status ?? null, type: fields.type ?? null }
    : undefined
}

/** Perplexity and xAI list them beside the choices; OpenRouter and OpenAI's search models in the message. */
function readSources(fields: Fields | undefined, delta: Fields | undefined): Source[] {
  const results = records(fields?.search_results).map(({ url, title }) => ({ url: text(url), title: text(title) }))
  const cited = list(fields?.citations).map((url) => ({ url: text(url), title: undefined }))
  const annotated = records(delta?.annotations).map((annotation) => {
    const cite = record(annotation.url_citation)
    return { url: text(cite?.url), title: text(cite?.title) }
  })
  const found = results.length > 0 ? results : cited.length > 0 ? cited : annotated
  return found.flatMap(({ url, title }) => (url && /^https?:\/\/[^\s<>]+$/.test(url) ? [{ url, title }] : []))
}

function readSaid(
  delta: Fields,
  { thinkingField, reasoningDetails }: Pick<ChatChunk, 'thinkingField' | 'reasoningDetails'>,
): ChatChunk['said'] {
  const said: ChatChunk['said'] = []
  const detailed = reasoningDetails.map(({ text: words, summary }) => text(words) ?? text(summary) ?? '').join('')
  const thinking = thinkingField ? text(delta[thinkingField]) : detailed
  if (thinking) said.push({ type: 'thinking', text: thinking })
  const content = text(delta.content)
  if (content) said.push({ type: 'text', text: content })
  else for (const part of list(delta.content)) said.push(...readContentPart(record(part)))
  const refusal = text(delta.refusal)
  if (refusal) said.push({ type: 'text', text: refusal })
  return said
}

/** Mistral's form of content: a list of parts, including thinking. */
function readContentPart(part: Fields | undefined): ChatChunk['said'] {
  const words = text(part?.text)
  if (part?.type === 'text' && words) return [{ type: 'text', text: words }]
  if (part?.type !== 'thinking') return []
  const thinking = list(part.thinking).map((piece) => text(record(piece)?.text) ?? '')
  return thinking.some((piece) => piece !== '') ? [{ type: 'thinking', text: thinking.join('') }] : []
}

/** Older servers send one `function_call` instead of the list. */
function readCalls(delta: Fields | undefined): Json[] {
  const single = record(delta?.function_call)
  return [...list(delta?.tool_calls), ...(single ? [single as Json] : [])]
}

/** Name and arguments are under `function` or, from some servers, beside the id (CLIENT-5). */
function readPiece(value: Json): ToolCallPiece {
  const piece = record(value)
  const called = record(piece?.function) ?? piece
  return {
    index: typeof piece?.index === 'number' ? piece.index : undefined,
    id: text(piece?.id)?.trim() || undefined,
    name: text(called?.name)?.trim() || undefined,
    input: called?.arguments ?? undefined,
    signature: text(record(record(piece?.extra_content)?.google)?.thought_signature),
  }
}

function record(value: Json | undefined): Fields | undefined {
  return isRecord(value) ? value : undefined
}

function records(value: Json | undefined): Fields[] {
  return list(value)
    .map(record)
    .filter((item) => item !== undefined)
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

/** Empty text counts as none. */
function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

interface CollectedCall {
  index: number | undefined
  id: string | undefined
  name: string
  /** The joined text, or the parsed arguments if a server sent those. */
  input: Json
  signature: string | undefined
}

/**
 * Assembles the calls of one response from their pieces. By the protocol, a piece belongs to the call of its index, and the first one has the id and the name. Servers leave
 * out the index or the id, repeat id and name in every piece, give every call the index 0, or send complete calls.
 */
export function createToolCallCollector() {
  const calls: CollectedCall[] = []

  function add(piece: ToolCallPiece): void {
    const known = callOf(piece)
    if (known && !beginsAnother(piece, known)) extend(known, piece)
    else {
      const { index, id, name = '', input = '', signature } = piece
      calls.push({ index, id, name, input, signature })
    }
  }

  /** The call that a piece continues, unless it begins another. */
  function callOf({ index, id, name }: ToolCallPiece): CollectedCall | undefined {
    const indexed = index === undefined ? undefined : calls.findLast((call) => call.index === index)
    if (indexed) return indexed
    const named = id === undefined ? undefined : calls.findLast((call) => call.id === id)
    // The same id at another index, with a name, is a second call from a server that uses one id for all.
    if (named) return index !== undefined && name !== undefined ? undefined : named
    return index === undefined && (id === undefined || name === undefined) ? calls.at(-1) : undefined
  }

  return {
    add,
    /** In the order of their indexes, or of arrival if one has none. */
    collected(): CollectedCall[] {
      const sent = calls.filter((call) => call.name !== '' || !isEmpty(call.input))
      return sent.every(({ index }) => index !== undefined)
        ? sent.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
        : sent
    },
  }
}

function extend(call: CollectedCall, { id, name, input, signature }: ToolCallPiece): void {
  call.id ??= id
  call.name ||= name ?? ''
  call.signature ??= signature
  if (input === undefined) return
  if (typeof input === 'string' && typeof call.input === 'string') call.input += input
  else if (typeof input !== 'string') call.input = input
}

/** Whether a piece that could continue a call is the first of the next one. Only a piece with a name can be. */
function beginsAnother({ index, id, name, input }: ToolCallPiece, call: CollectedCall): boolean {
  if (name === undefined || call.name === '') return false
  if (name !== call.name) return true
  const opens = typeof input === 'string' ? /^\s*[{[]/.test(input) : input !== undefined
  const hasOtherId = id !== undefined && id !== call.id
  if (opens) return (hasOtherId && call.id !== undefined) || isWhole(call.input)
  if (!isEmpty(input)) return false
  if (hasOtherId) return isWhole(call.input)
  return index === undefined && id === undefined && isEmpty(call.input)
}

function isEmpty(input: Json | undefined): boolean {
  return input === undefined || (typeof input === 'string' && input.trim() === '')
}

function isWhole(input: Json): boolean {
  return typeof input !== 'string' || (/[}\]]\s*$/.test(input.slice(-16)) && parseAnyJson(input).ok)
}

/** Collects the chunks of one response. */
export function createChatAnswer(options: {
  providerName: string
  ids: ToolCallIds
  settleInput(toolName: string, input: Json): Json
}) {
  const { providerName, ids, settleInput } = options
  const parts: AssistantPart[] = []
  const calls = createToolCallCollector()
  const details: { [key: string]: Json }[] = []
  let thinkingField: ThinkingField | undefined
  let finishReason: string | undefined
  let refused = false
  let usage: ChatChunk['usage']
  const sources = new Map<string, Source>()

  function toPart({ id, name, input, signature }: CollectedCall): AssistantPart {
    return {
      type: 'tool_call',
      id: ids.take(id),
      name,
      input: settleInput(name, readToolInput(input)),
      ...(signature && { replay: { provider: providerName, metadata: { thoughtSignature: signature } } }),
    }
  }

  /** The text and thinking parts; the first thinking carries the details to send back. */
  function spokenParts(): AssistantPart[] {
    const metadata = {
      ...(details.length > 0 && { reasoningDetails: details }),
      ...(thinkingField && thinkingField !== 'reasoning_content' && { field: thinkingField }),
    }
    if (Object.keys(metadata).length === 0) return parts
    const replay = { provider: providerName, metadata }
    const first = parts.findIndex((part) => part.type === 'thinking')
    // Encrypted thinking has no text, and is sent back all the same.
    if (first === -1) return [{ type: 'thinking', text: '', replay }, ...parts]
    return parts.map((part, at) => (at === first ? { ...part, replay } : part))
  }

  return {
    /** The deltas of a chunk. */
    add(chunk: ChatChunk): ModelStreamEvent[] {
      finishReason = chunk.finishReason ?? finishReason
      usage = chunk.usage ?? usage
      refused ||= chunk.refused
      thinkingField ??= chunk.thinkingField
      for (const source of chunk.sources) sources.set(source.url, source)
      for (const piece of chunk.calls) calls.add(piece)
      for (const detail of chunk.reasoningDetails) addDetail(details, detail)
      return chunk.said.map(({ type, text }) => {
        appendDelta(parts, providerName, type, text)
        return { type: `${type}_delta`, text }
      })
    },
    /** After the last chunk: the deltas of the appended text. */
    end(): ModelStreamEvent[] {
      const said = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
      const text = said === '' || calls.collected().length > 0 ? '' : sourceList([...sources.values()], said)
      if (text === '') return []
      appendDelta(parts, providerName, 'text', text)
      return [{ type: 'text_delta', text }]
    },
    /**
     * Undefined if the response is incomplete: no stop reason and no end, or a call without a name. `saidDone`: the
     * server sent its end mark, which some send instead of a reason.
     */
    response(saidDone: boolean): ModelResponse | undefined {
      const collected = calls.collected()
      const spoken = spokenParts()
      const isEnded = finishReason !== undefined || (saidDone && (spoken.length > 0 || collected.length > 0))
      if (!isEnded || collected.some(({ name }) => name === '')) return undefined
      const stopReason = stopReasons.get(finishReason ?? 'stop') ?? 'other'
      return {
        parts: [...spoken, ...collected.map(toPart)],
        // OpenAI sends `stop` also after a refusal.
        stopReason: stopReason === 'end' && refused ? 'refusal' : stopReason,
        usage: toUsage(usage),
        ...(finishReason === 'content_filter' && { notice: filteredNotice }),
      }
    },
    /** The provider's message if it ended the response with an error. */
    failure: () => (finishReason === 'error' ? 'the provider ended the response with an error' : undefined),
  }
}

/** A streamed piece continues the one before it; encrypted ones are complete. */
function addDetail(details: { [key: string]: Json }[], piece: { [key: string]: Json | undefined }): void {
  const last = details.at(-1)
  const sent = Object.entries(piece).filter((entry): entry is [string, Json] => entry[1] !== undefined)
  const key = piece.type === 'reasoning.text' ? 'text' : piece.type === 'reasoning.summary' ? 'summary' : undefined
  const continues =
    last && key && last.type === piece.type && (last.index ?? null) === (piece.index ?? null) && !last.signature
  if (!continues) {
    details.push(Object.fromEntries(sent))
    return
  }
  for (const [name, value] of sent) {
    if (name === key) last[name] = `${typeof last[name] === 'string' ? last[name] : ''}${String(value ?? '')}`
    else if (value !== null) last[name] = value
  }
}

/** The pages below a response. If it has no numbers that refer to them, pages that it links itself are left out. */
function sourceList(sources: readonly Source[], said: string): string {
  const isNumbered = /\[\d+\]/.test(said)
  const listed = isNumbered ? sources : sources.filter(({ url }) => !said.includes(url))
  if (listed.length === 0) return ''
  const lines = listed.map(({ url, title }, at) => {
    const name = title?.replace(/[\s[\]\\]+/g, ' ').trim()
    return `${at + 1}. ${name ? `[${name}](${url.replaceAll(')', '%29')})` : `<${url}>`}`
  })
  return `\n\nSources:\n${lines.join('\n')}`
}

const stopReasons: ReadonlyMap<string, StopReason> = new Map([
  ['stop', 'end'],
  ['eos', 'end'],
  ['end_turn', 'end'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
  ['length', 'max_tokens'],
  ['content_filter', 'refusal'],
])

function toUsage(usage: ChatChunk['usage']): Usage {
  const prompt = record(usage?.prompt_tokens_details) ?? {}
  const inputTokens = count(usage?.prompt_tokens)
  return {
    inputTokens,
    outputTokens: outputTokens(usage, inputTokens),
    // Moonshot and DeepSeek have their own names for cache hits.
    cacheReadTokens:
      count(prompt.cached_tokens) || count(usage?.cached_tokens) || count(usage?.prompt_cache_hit_tokens),
    // OpenRouter's, and LiteLLM's.
    cacheWriteTokens: count(prompt.cache_write_tokens) || count(usage?.cache_creation_input_tokens),
  }
}

/** xAI and Gemini count reasoning in addition to the completion; the total shows it. */
function outputTokens(usage: ChatChunk['usage'], inputTokens: number): number {
  const completion = count(usage?.completion_tokens)
  const reasoning = count(record(usage?.completion_tokens_details)?.reasoning_tokens)
  const total = count(usage?.total_tokens)
  if (total > 0) return Math.max(completion, total - inputTokens)
  return reasoning > completion ? completion + reasoning : completion
}

function count(value: Json | undefined): number {
  return typeof value === 'number' ? Math.max(0, Math.round(value)) : 0
}
