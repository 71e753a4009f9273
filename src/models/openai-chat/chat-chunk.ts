import { parseAnyJson } from '../../base/json.ts'
import type { Json } from '../../protocol/json.ts'

type Fields = { [key: string]: Json | undefined }

/** A piece of a tool call. Servers differ in which of these they send, and in which pieces. */
export interface ToolCallPiece {
  index: number | undefined
  id: string | undefined
  name: string | undefined
  /** Text, a piece of it or, from some servers, the arguments themselves. */
  input: Json | undefined
  signature: string | undefined
}

/** What one chunk of the stream says, in the order in which it counts. */
export interface ChatChunk {
  error: Json | undefined
  said: { type: 'text' | 'thinking'; text: string }[]
  refused: boolean
  calls: ToolCallPiece[]
  finishReason: string | undefined
  usage: Fields | undefined
}

/**
 * The data of one event, undefined where it is not JSON. Read by hand, not with a schema, for there is one of these for
 * every token; and leniently, for servers differ: what has another shape counts as not sent.
 */
export function readChatChunk(data: string): ChatChunk | undefined {
  const parsed = parseAnyJson(data)
  if (!parsed.ok) return undefined
  const fields = record(parsed.value)
  const choice = record(list(fields?.choices)[0])
  const delta = record(choice?.delta)
  const refusal = text(delta?.refusal)
  return {
    error: errorOf(fields),
    said: delta ? readSaid(delta, refusal) : [],
    refused: refusal !== undefined,
    calls: readCalls(delta).map(readPiece),
    finishReason: text(choice?.finish_reason),
    usage: record(fields?.usage),
  }
}

function errorOf(fields: Fields | undefined): Json | undefined {
  if (fields?.error) return fields.error
  return fields?.object === 'error' ? (fields as Json) : undefined
}

function readSaid(delta: Fields, refusal: string | undefined): ChatChunk['said'] {
  const said: ChatChunk['said'] = []
  const thinking = text(delta.reasoning_content) ?? text(delta.reasoning)
  if (thinking) said.push({ type: 'thinking', text: thinking })
  const content = text(delta.content)
  if (content) said.push({ type: 'text', text: content })
  else for (const part of list(delta.content)) said.push(...readContentPart(record(part)))
  if (refusal) said.push({ type: 'text', text: refusal })
  return said
}

/** Mistral's form of content: a list of parts, the thinking among them. */
function readContentPart(part: Fields | undefined): ChatChunk['said'] {
  const words = text(part?.text)
  if (part?.type === 'text' && words) return [{ type: 'text', text: words }]
  if (part?.type !== 'thinking') return []
  const thinking = list(part.thinking).map((piece) => text(record(piece)?.text) ?? '')
  return thinking.some((piece) => piece !== '') ? [{ type: 'thinking', text: thinking.join('') }] : []
}

/** Servers of the first days send one `function_call` in place of the list. */
function readCalls(delta: Fields | undefined): Json[] {
  const single = record(delta?.function_call)
  return [...list(delta?.tool_calls), ...(single ? [single as Json] : [])]
}

/** Name and arguments stand under `function` or, from some servers, beside the id (CLIENT-5). */
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
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

/** Empty text says nothing. */
function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
