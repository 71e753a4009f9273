import { toStorableText } from '../../base/text.ts'
import type { MediaPart, ModelMessage, ToolCallPart, ToolResult, UserPart } from '../../protocol/message.ts'

export interface Turn {
  /** What the user said last, in the user's own words. */
  words: string
  files: readonly MediaPart[]
  /** The calls made since then, by whichever model. */
  calls: readonly ToolCallPart[]
  results: ReadonlyMap<string, ToolResult>
  /** How often tools were called since then. */
  rounds: number
}

/** The newest thing said by the user, and what was done about it so far. */
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
    calls: calls.flat(),
    results: new Map(results.map((result) => [result.callId, result])),
    rounds: calls.filter((made) => made.length > 0).length,
  }
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
