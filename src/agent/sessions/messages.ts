import type { AssistantPart, ModelMessage, ToolResult, UserPart } from '../../protocol/messages.ts'
import { type AssistantEntry, asData, type Entry, type Projection, type UserEntry } from './projection.ts'

export const outcomeUnknown =
  'Outcome unknown: this call was interrupted and may or may not have taken effect. Check before you repeat it.'
const missingBeginning = '[The start of this conversation is missing.]'

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

/** Marks untrusted results as data, unless the tool has already done so. */
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
    const { name, mediaType, bytes, reading } = media
    const isNow = mediaOfTurn !== null && entry.turnId === mediaOfTurn
    const where = reading?.path === undefined ? '' : `, saved as ${reading.path}`
    // A file that was read as text keeps the same text; only a PDF may be sent as a file to a model that reads PDF.
    const isAsText = reading?.text !== undefined && !(isNow && mediaType === 'application/pdf')
    if (reading?.text === '') continue
    if (isAsText) parts.push({ type: 'text', text: reading?.text ?? '' })
    else if (!isNow)
      parts.push({ type: 'text', text: `[attached earlier: ${name}, ${mediaType}, ${bytes} bytes${where}]` })
    else {
      parts.push(media)
      if (where && reading?.text === undefined) parts.push({ type: 'text', text: `[${name}${where}]` })
    }
  }
  return parts
}

/** The positions at which the conversation may be cut: the start of each exchange. */
export function exchangeStarts(entries: readonly Entry[]): number[] {
  return entries.flatMap((entry, index) => {
    const sameTurn = entry.turnId !== null && entries[index - 1]?.turnId === entry.turnId
    return entry.role === 'user' && !sameTurn ? [index] : []
  })
}

interface CompactionPlan {
  throughSeq: number
  entries: Entry[]
}

const leastEntries = 4

/**
 * The part of the conversation that a summary may replace: about the oldest `share` of it, cut only at the start of an
 * exchange, so that no call is separated from its result and the newest exchange always stays. Undefined if that leaves
 * nothing to replace, or a turn is running; with `inTurn` that turn is the exchange that stays.
 */
export function planCompaction(
  projection: Projection,
  share: number,
  { inTurn = false } = {},
): CompactionPlan | undefined {
  const { entries } = projection
  if (!inTurn && (entries.length < leastEntries || projection.turn)) return undefined
  const starts = exchangeStarts(entries).filter((index) => index > 0)
  const target = Math.floor(entries.length * share)
  const cut = starts.findLast((index) => index <= target) ?? starts[0]
  const first = cut === undefined ? undefined : entries[cut]
  if (cut === undefined || !first) return undefined
  return { throughSeq: first.seq - 1, entries: entries.slice(0, cut) }
}

const maxResultCharacters = 2_000

/** The part as plain text, message by message, for the model that summarizes it. */
export function transcriptOf(plan: CompactionPlan, projection: Projection): string[] {
  return plan.entries.map((entry) => describeEntry(entry, projection))
}

function describeEntry(entry: Entry, projection: Projection): string {
  if (entry.role === 'user') {
    const files = entry.media.map((media) => `[attached: ${media.name}]`)
    return ['User:', ...(entry.shown ?? entry.texts), ...files].join('\n')
  }
  const lines = entry.parts.flatMap((part) => {
    if (part.type === 'thinking') return []
    if (part.type === 'text') return [part.text]
    const result = projection.results[part.id]
    const told = result ? `${result.isError ? 'error: ' : ''}${result.text.slice(0, maxResultCharacters)}` : 'unknown'
    return [`[called ${part.name} with ${JSON.stringify(part.input)}; result: ${told}]`]
  })
  return ['Agent:', ...lines].join('\n')
}
