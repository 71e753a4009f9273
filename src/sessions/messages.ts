import type { AssistantPart, ModelMessage, ToolResult, UserPart } from '../protocol/message.ts'
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
    for (const message of messagesOf(entry, projection, options.mediaOfTurn)) push(messages, message)
  }
  if (messages[0] && messages[0].role !== 'user') {
    messages.unshift({ role: 'user', parts: [{ type: 'text', text: missingBeginning }] })
  }
  return messages
}

/** Turns that have ended never change: what was made of their entries is kept, so that a long history costs little. */
const ofEndedTurns = new WeakMap<Entry, ModelMessage[]>()

function messagesOf(entry: Entry, projection: Projection, mediaOfTurn: string | null): ModelMessage[] {
  const known = ofEndedTurns.get(entry)
  if (known) return known
  const made = entry.role === 'user' ? userMessage(entry, mediaOfTurn) : assistantMessages(entry, projection)
  if (projection.turn && entry.turnId !== projection.turn.id) ofEndedTurns.set(entry, made)
  return made
}

/** What is in `messages` may be shared with other requests: joining makes a new one. */
function push(messages: ModelMessage[], message: ModelMessage): void {
  const last = messages.at(-1)
  if (last?.role === 'user' && message.role === 'user') {
    messages[messages.length - 1] = { role: 'user', parts: [...last.parts, ...message.parts] }
  } else if (last?.role === 'assistant' && message.role === 'assistant') {
    messages[messages.length - 1] = { role: 'assistant', parts: [...last.parts, ...message.parts] }
  } else messages.push(message)
}

function userMessage(entry: UserEntry, mediaOfTurn: string | null): ModelMessage[] {
  const parts = userParts(entry, mediaOfTurn)
  return parts.length > 0 ? [{ role: 'user', parts }] : []
}

function assistantMessages(entry: AssistantEntry, projection: Projection): ModelMessage[] {
  const parts = entry.parts.map(withObjectInput).filter((part) => part.type !== 'text' || part.text.trim() !== '')
  if (parts.every((part) => part.type === 'thinking')) return []
  const results = parts.flatMap((part): ToolResult[] => {
    if (part.type !== 'tool_call') return []
    const result = projection.results[part.id] ?? { name: part.name, text: outcomeUnknown, isError: true }
    return [{ callId: part.id, name: part.name, text: result.text.trim() || '(no output)', isError: result.isError }]
  })
  const message: ModelMessage = { role: 'assistant', parts }
  return results.length > 0 ? [message, { role: 'tool', results }] : [message]
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
  const text = entry.texts.join('\n')
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
