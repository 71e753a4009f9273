import type { Seen } from '../policy/gate.ts'
import type { Card } from '../protocol/card.ts'
import type { Json } from '../protocol/json.ts'
import type { Label } from '../protocol/label.ts'
import type { MediaPart } from '../protocol/message.ts'
import type { ToolDefinition, ToolEffect } from '../protocol/tool.ts'
import type { Writer } from '../storage/database.ts'

export interface ToolContext {
  userId: string
  sessionId: string
  turnId: string
  callId: string
  /** What the user said in this turn, word for word. Empty where nobody did: an automated message is nobody's word. */
  userText: string
  /** The question that the user was left with, where the turn before ended with one: `userText` is the answer. */
  answers: string | null
  /** What the model had in sight when it made the call: with words of others there, its arguments may be theirs. */
  seen: Seen
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
  /** With `isError`: it took longer than it may. */
  timedOut?: true
  /** Whose words the text is; `internal` where nothing is said. What is untrusted marks the session for good. */
  label?: Label
  /** The text holds what is the user's own: memories, files, what was said elsewhere. Marks the session for good. */
  isPrivate?: true
  /** Something to look at beside the text. */
  card?: Card
  /** Files that came out of it. */
  media?: MediaPart[]
  /** What it says to the user at once, while the turn goes on. */
  says?: string
  /** What it puts beside the user's message. */
  reaction?: string
  /** Passing by nature: it never becomes memory. */
  isEphemeral?: true
  /** For the audit trail: the sandbox that it ran in, and what it says is left of its budget. */
  ran?: { driver: string | null; budgetRemaining: number | null }
}

/** What policy must know of a call before it is made (SEC-6). */
export interface ToolReach {
  /** `acts`: changes something beyond this conversation, or sends something off this machine. `asks`: may never do so unasked. */
  kind: 'reads' | 'acts' | 'asks'
  /** Where it goes, as the owner would declare it and is shown it: `https://example.com`, `exec:host`, `mcp:calendar`. */
  destination: string | null
}

/** A call that may be made now. */
interface BegunCall extends Pick<ToolContext, 'userId' | 'sessionId' | 'turnId' | 'callId'> {
  input: Json
}

/**
 * Thrown by `run` where the daemon is stopping and the call waits for what comes after the next start. Nothing is recorded
 * of it; it is made again then, so only an idempotent tool may throw this.
 */
export class CallSuspended extends Error {}

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
  /** The client runs it: its calls are told to the client, and `run` waits for the result. */
  isClients?: true
  /** Called in the unit that writes the call as begun: what it writes is there before anybody hears of the call. */
  beginIn?(writer: Writer, call: BegunCall): Promise<void>
  /** More of what it is for, by which it is found. Never sent to a model. */
  documentation?: string
  /** What this call would do. Must decide by the arguments alone, and for bad ones take the graver answer. */
  reach(input: Json): ToolReach
  run(input: Json, context: ToolContext): Promise<ToolOutcome>
}
