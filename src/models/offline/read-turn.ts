import { toStorableText } from '../../base/text.ts'
import { waitsForApproval } from '../../policy/approval-texts.ts'
import type { MediaPart, ModelMessage, ToolCallPart, ToolResult, UserPart } from '../../protocol/message.ts'

export interface Turn {
  /** What the user said last, in the user's own words. */
  words: string
  files: readonly MediaPart[]
  before: Before
  /** The calls made since then, by whichever model. */
  calls: readonly ToolCallPart[]
  results: ReadonlyMap<string, ToolResult>
  /** How often tools were called since then. */
  rounds: number
}

/** What the user's words may point back to. */
export interface Before {
  /** The ids of the memories that the newest reply cited, in its order. */
  cited: readonly string[]
  /** The call that ended the turn before with a question, where the message is its answer; and the memory it is about. */
  asking: { call: ToolCallPart; about: string | undefined } | undefined
  /** The calls of the turn before that wait for the user's approval. */
  waiting: readonly ToolCallPart[]
  /** What the system tells with the message. */
  told: string
}

export const nothingBefore: Before = { cited: [], asking: undefined, waiting: [], told: '' }

/** The newest thing said by the user, what came before it, and what was done about it so far. */
export function readTurn(messages: readonly ModelMessage[]): Turn {
  const start = messages.findLastIndex((message, index) => message.role === 'user' && !isNotice(messages, index))
  const newest = messages[start]
  const since = messages.slice(start + 1)
  const said = newest?.role === 'user' ? newestParts(newest.parts) : []
  const calls = since.map((message) => (message.role === 'assistant' ? callsOf(message.parts) : []))
  const results = since.flatMap((message) => (message.role === 'tool' ? message.results : []))
  return {
    words: toStorableText(said.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')).trim(),
    files: said.filter((part) => part.type === 'media'),
    before: readBefore(messages.slice(0, Math.max(0, start)), newest),
    calls: calls.flat(),
    results: new Map(results.map((result) => [result.callId, result])),
    rounds: calls.filter((made) => made.length > 0).length,
  }
}

function readBefore(earlier: readonly ModelMessage[], newest: ModelMessage | undefined): Before {
  const replies = earlier.flatMap((message) => (message.role === 'assistant' ? [message] : []))
  const said = replies.map((reply) => reply.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
  const reply = said.findLast((text) => text.trim() !== '') ?? ''
  const call = callsOf(replies.at(-1)?.parts ?? []).at(-1)
  const question = newest?.role === 'user' ? readQuestion(newest.parts) : undefined
  return {
    cited: citedIn(reply),
    asking: call && question !== undefined ? { call, about: citedIn(question).at(-1) } : undefined,
    waiting: waitingIn(earlier),
    told: newest?.role === 'user' ? (newest.parts.filter(isContext).map(textOfPart).at(-1) ?? '') : '',
  }
}

function waitingIn(earlier: readonly ModelMessage[]): ToolCallPart[] {
  const replies = earlier.findLastIndex((message) => message.role === 'assistant')
  const [made, results] = earlier.slice(replies)
  if (made?.role !== 'assistant' || results?.role !== 'tool') return []
  const ids = results.results.filter(({ text }) => text === waitsForApproval).map(({ callId }) => callId)
  return callsOf(made.parts).filter(({ id }) => ids.includes(id))
}

function textOfPart(part: UserPart): string {
  return part.type === 'text' ? part.text : ''
}

function citedIn(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(/\[memory:([\w-]{1,64})\]/g), ([, id = '']) => id))]
}

/** The question that the message answers, as the context tells it. */
function readQuestion(parts: readonly UserPart[]): string | undefined {
  const opening = '\nYou had asked: '
  for (const part of parts.toReversed()) {
    if (part.type !== 'text' || !isContext(part)) continue
    const start = part.text.indexOf(opening)
    return start < 0 ? undefined : part.text.slice(start + opening.length).split('\n')[0]
  }
  return undefined
}

/**
 * What is told to language models (date, recalled memories) rides as a text part of its own before the user's. Where an
 * earlier message got no answer, both stand in one: only what follows the last context is new.
 */
function newestParts(parts: readonly UserPart[]): readonly UserPart[] {
  const context = parts.findLastIndex((part, index) => isContext(part) && index < parts.length - 1)
  return parts.slice(context + 1)
}

function isContext(part: UserPart): boolean {
  return part.type === 'text' && part.text.trimStart().startsWith('<context>')
}

/** The loop's own words to the model in the middle of a turn ("[Only 2 rounds are left …]") are not the user's. */
function isNotice(messages: readonly ModelMessage[], index: number): boolean {
  const message = messages[index]
  if (message?.role !== 'user' || messages[index - 1]?.role !== 'tool') return false
  return message.parts.every((part) => part.type === 'text' && /^\[[^\]]*\]$/.test(part.text))
}

function callsOf(parts: readonly { type: string }[]): ToolCallPart[] {
  return parts.filter((part): part is ToolCallPart => part.type === 'tool_call')
}
