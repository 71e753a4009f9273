import type { AssistantPart, ModelMessage, ToolResult, UserPart } from '../protocol/message.ts'
import { asData } from './as-data.ts'
import type { AssistantEntry, Entry, Projection, UserEntry } from './projection.ts'

export const outcomeUnknown =
  'Outcome unknown: this call was interrupted and may or may not have taken effect. Check before doing it again.'
const missingBeginning = '[The beginning of this conversation is missing.]'

/**
 * The conversation as any provider accepts it: it begins with the user, every tool call is answered directly after its
 * message and in its order, nothing is empty, and no role but `tool` follows itself. Orphans of a crash or a damaged
 * log are repaired here, never in the log. Media is sent only in the turn that brought it (SESS-9).
 */
export function toMessages(projection: Projection, options: { mediaOfTurn: string | null }): ModelMessage[] {
  const messages: ModelMessage[] = []
  for (const entry of projection.entries) {
    if (entry.role === 'user') pushUser(messages, userParts(entry, options.mediaOfTurn))
    else pushAssistant(messages, entry, projection)
  }
  if (messages[0] && messages[0].role !== 'user') {
    messages.unshift({ role: 'user', parts: [{ type: 'text', text: missingBeginning }] })
  }
  return messages
}

function pushUser(messages: ModelMessage[], parts: UserPart[]): void {
  const last = messages.at(-1)
  if (parts.length === 0) return
  if (last?.role === 'user') last.parts.push(...parts)
  else messages.push({ role: 'user', parts })
}

function pushAssistant(messages: ModelMessage[], entry: AssistantEntry, projection: Projection): void {
  const parts = entry.parts.map(withObjectInput).filter((part) => part.type !== 'text' || part.text.trim() !== '')
  if (parts.every((part) => part.type === 'thinking')) return
  const last = messages.at(-1)
  if (last?.role === 'assistant') last.parts.push(...parts)
  else messages.push({ role: 'assistant', parts })
  const results = parts.flatMap((part): ToolResult[] => {
    if (part.type !== 'tool_call') return []
    const result = projection.results[part.id] ?? { name: part.name, text: outcomeUnknown, isError: true }
    return [{ callId: part.id, name: part.name, text: toldText(part.name, result), isError: result.isError }]
  })
  if (results.length > 0) messages.push({ role: 'tool', results })
}

/** What others wrote is marked as data, where its tool has not marked it already. */
function toldText(name: string, { text, isUntrusted }: Projection['results'][string]): string {
  const told = text.trim() || '(no output)'
  return isUntrusted && !told.startsWith(`[TOOL:${name}]`) ? asData(told) : told
}

/** Providers take only objects as arguments; what the model wrote otherwise is shown back to it inside one. */
function withObjectInput(part: AssistantPart): AssistantPart {
  if (part.type !== 'tool_call') return part
  const isObject = typeof part.input === 'object' && part.input !== null && !Array.isArray(part.input)
  return isObject ? part : { ...part, input: { unparsed: part.input } }
}

function userParts(entry: UserEntry, mediaOfTurn: string | null): UserPart[] {
  const parts: UserPart[] = []
  if (entry.context) parts.push({ type: 'text', text: entry.context })
  const text = (entry.shown ?? entry.texts).join('\n')
  if (text.trim()) parts.push({ type: 'text', text })
  for (const media of entry.media) {
    if (mediaOfTurn !== null && entry.turnId === mediaOfTurn) parts.push(media)
    else
      parts.push({ type: 'text', text: `[attached earlier: ${media.name}, ${media.mediaType}, ${media.bytes} bytes]` })
  }
  return parts
}

/** Where the conversation may be cut: the places at which an exchange begins. */
export function exchangeStarts(entries: readonly Entry[]): number[] {
  return entries.flatMap((entry, index) => {
    const sameTurn = entry.turnId !== null && entries[index - 1]?.turnId === entry.turnId
    return entry.role === 'user' && !sameTurn ? [index] : []
  })
}
