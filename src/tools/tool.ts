import type { Json } from '../protocol/json.ts'
import type { ToolDefinition, ToolEffect } from '../protocol/tool.ts'

export interface ToolContext {
  userId: string
  sessionId: string
  turnId: string
  callId: string
  /** What the user said in this turn, word for word. Empty where nobody did: an automated message is nobody's word. */
  userText: string
  /** The question that the user was left with, where the turn before ended with one: `userText` is the answer. */
  answers: string | null
  signal: AbortSignal
  /** Tells watchers how a long call is getting on. Not stored. */
  progress(data: Json): void
}

export interface ToolOutcome {
  text: string
  isError: boolean
  /** Ends the turn: the user's next message is the answer. */
  question?: string
  /** Tools that carry their schema in the requests after this one. */
  foundTools?: string[]
  /** With `isError`: what failed lies outside, and says little against the tool. */
  serviceFailed?: true
}

/**
 * Something the model can do.
 *
 * `run` gets arguments exactly as the model wrote them and answers bad ones with an error outcome that says what is
 * wrong. It must stop when the signal aborts; it may throw only for faults of its own, which the model is told.
 */
export interface Tool {
  definition: ToolDefinition
  effect: ToolEffect
  /** It touches shared state: runs alone, in the order of the calls. */
  serial: boolean
  /** Core tools carry their schema in every request; the others are found with `find_tools`. */
  core: boolean
  /** Further names that work and are not advertised. */
  aliases: readonly string[]
  run(input: Json, context: ToolContext): Promise<ToolOutcome>
}
