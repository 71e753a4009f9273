import { type Language, languageOfTexts } from '../../base/languages.ts'
import { toStorableText } from '../../base/text.ts'
import type { ModelMessage, ToolCallPart, ToolResult, UserPart } from '../../protocol/messages.ts'
import { waitsForApproval } from '../../security/approval-texts.ts'

export interface Turn {
  /** The user's latest words. */
  words: string
  /** The names of the message's attachments. */
  files: readonly string[]
  before: Before
  /** The calls made since then, by any model. */
  calls: readonly ToolCallPart[]
  results: ReadonlyMap<string, ToolResult>
  /** How often tools were called since then. */
  rounds: number
}

/** The context that the user's words may refer to. */
export interface Before {
  /** The ids of the memories cited in the newest reply, in order. */
  cited: readonly string[]
  /**
   * The call that ended the previous turn with a question, if the message is its answer; and the memory it is about.
   */
  asking: { call: ToolCallPart; about: string | undefined } | undefined
  /** The calls of the previous turn that wait for the user's approval. */
  waiting: readonly ToolCallPart[]
  /** The system's note with the message. */
  told: string
  /** The last time that the context contained; unchanged times are not repeated. Empty if there was none. */
  now: string
  /** Of the message, else of the user's earlier ones. */
  language: Language
}

export const nothingBefore: Before = { cited: [], asking: undefined, waiting: [], told: '', now: '', language: 'en' }

/** The user's latest words, the context before them, and the calls made since. */
export function readTurn(messages: readonly ModelMessage[]): Turn {
  const start = messages.findLastIndex((message, index) => message.role === 'user' && !isNotice(messages, index))
  const newest = messages[start]
  const since = messages.slice(start + 1)
  const said = newest?.role === 'user' ? newestParts(newest.parts) : []
  const calls = since.map((message) => (message.role === 'assistant' ? callsOf(message.parts) : []))
  const results = since.flatMap((message) => (message.role === 'tool' ? message.results : []))
  const spoken = said.flatMap((part) =>
    part.type === 'text' && attachedName(part.text) === undefined ? [part.text] : [],
  )
  const words = toStorableText(spoken.join('\n')).trim()
  const before = readBefore(messages.slice(0, Math.max(0, start)), newest)
  return {
    words,
    files: said.flatMap((part) => {
      if (part.type === 'media') return [part.name || part.mediaType]
      return attachedName(part.text) ?? []
    }),
    before: { ...before, language: languageOfTexts(saidBefore(messages.slice(0, Math.max(0, start)), words)) },
    calls: calls.flat(),
    results: new Map(results.map((result) => [result.callId, result])),
    rounds: calls.filter((made) => made.length > 0).length,
  }
}

const readMessages = 20

/** The user's words, newest first. A report of the system is not theirs, and neither is a file. */
function* saidBefore(earlier: readonly ModelMessage[], words: string): Generator<string> {
  const reported = /(?:^|\n)(?:Remind the user: ([^\n]+)|The user (?:approved|denied): )/.exec(words)
  yield reported ? (reported[1] ?? '') : words
  for (const message of earlier.slice(-readMessages).toReversed()) {
    if (message.role !== 'user') continue
    for (const part of newestParts(message.parts)) {
      if (part.type === 'text' && attachedName(part.text) === undefined && !isContext(part)) yield part.text
    }
  }
}

/** The file whose content this text is; undefined if the user wrote it. */
function attachedName(text: string): string | undefined {
  const [, fenced, named] =
    /^(?:`{3,} attachment ([^\n]+)\n|\[Attached: ([^\n]+?)(?: \(|\. ))/.exec(text.slice(0, 600)) ?? []
  return fenced ?? named
}

function readBefore(earlier: readonly ModelMessage[], newest: ModelMessage | undefined): Omit<Before, 'language'> {
  const replies = earlier.flatMap((message) => (message.role === 'assistant' ? [message] : []))
  const said = replies.map((reply) => reply.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
  const reply = said.findLast((text) => text.trim() !== '') ?? ''
  const call = callsOf(replies.at(-1)?.parts ?? []).at(-1)
  const question = newest?.role === 'user' ? readQuestion(newest.parts) : undefined
  return {
    cited: citedIn(reply),
    asking: call && question !== undefined ? { call, about: citedIn(question).at(-1) } : undefined,
    waiting: waitingIn(earlier),
    now: nowIn(newest ? [...earlier, newest] : earlier),
    told: newest?.role === 'user' ? (newest.parts.filter(isContext).map(textOfPart).at(-1) ?? '') : '',
  }
}

function nowIn(messages: readonly ModelMessage[]): string {
  const contexts = messages.flatMap((message) => (message.role === 'user' ? message.parts.filter(isContext) : []))
  return contexts.flatMap((part) => /^Now: (.+)$/m.exec(textOfPart(part))?.[1] ?? []).at(-1) ?? ''
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

/** The question that the message answers, from the context. */
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
 * Context for language models (date, recalled memories) is a separate text part before the user's. If an earlier
 * message got no answer, both are in one: only the parts after the last context are new.
 */
function newestParts(parts: readonly UserPart[]): readonly UserPart[] {
  const context = parts.findLastIndex((part, index) => isContext(part) && index < parts.length - 1)
  return parts.slice(context + 1)
}

function isContext(part: UserPart): boolean {
  return part.type === 'text' && part.text.trimStart().startsWith('<context>')
}

/** The loop's own notices in the middle of a turn ("[Only 2 rounds are left …]") are not the user's words. */
function isNotice(messages: readonly ModelMessage[], index: number): boolean {
  const message = messages[index]
  if (message?.role !== 'user' || messages[index - 1]?.role !== 'tool') return false
  return message.parts.every((part) => part.type === 'text' && /^\[[^\]]*\]$/.test(part.text))
}

function callsOf(parts: readonly { type: string }[]): ToolCallPart[] {
  return parts.filter((part): part is ToolCallPart => part.type === 'tool_call')
}
