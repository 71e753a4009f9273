import type { Label } from '../../protocol/label.ts'

/** One call of a command, read and attributed. Every look-up that a command makes carries the user (SEC-22). */
export interface CommandCall {
  userId: string
  /** Null where nothing was said yet: there is no session. */
  sessionId: string | null
  /** What stands behind the name, without spaces around it. */
  argument: string
  by: 'user' | 'agent'
  /** Whose words the argument is. */
  trust: Label
  /** What the user has said yes to, where they have: see `confirmationOf`. */
  confirm: string | undefined
  signal: AbortSignal
}

export interface CommandAnswer {
  ok: boolean
  /** Plain text for a person: what was done or found, or what was wrong. */
  text: string
  /** Where the conversation goes on from now, where that is another session: its id or its name. */
  goesOnIn?: string
  /** Words of others are in the text. */
  label?: 'untrusted'
  /** The text holds what is the user's own. */
  isPrivate?: true
}

/**
 * What would be changed for good. The question says all of it, so that another state makes another question: a yes to
 * the one is no yes to the other. `carryOut` is called only with the user's yes to exactly this question, and answers
 * with a new proposal where it came too late.
 */
export interface CommandProposal {
  question: string
  /** Words of others are in the question. */
  label?: 'untrusted' | undefined
  carryOut(): Promise<CommandAnswer | CommandProposal>
}

/**
 * Something that a person types, `/name argument`, in whatever way in. Expected failure is an answer that is not ok, or
 * a FamiliarError with a status below 500, which becomes one.
 */
export interface Command {
  name: string
  /** `/rewind [N | MARK]`: brackets around what may be left out. */
  usage: string
  /** One line for the help. */
  summary: string
  /** Some of what it does asks first. */
  changesForGood: boolean
  /** Whether the agent may use it too. */
  agentMay: boolean
  /** With this argument it changes something without asking first. Decides by the argument alone. */
  acts(argument: string): boolean
  /** Whole arguments that fit here; those that do not begin with what is typed are left out by the caller. */
  complete?(call: CompletionCall): Promise<readonly string[]>
  run(call: CommandCall): Promise<CommandAnswer | CommandProposal>
}

interface CompletionCall {
  userId: string
  sessionId: string | null
  /** What is typed of the argument so far. */
  argument: string
}

export const always = () => true
export const never = () => false

export function done(text: string, more: Omit<CommandAnswer, 'ok' | 'text'> = {}): CommandAnswer {
  return { ok: true, text, ...more }
}

export function refused(text: string): CommandAnswer {
  return { ok: false, text }
}

/** What was wrong, and how it is written. */
export function misused(problem: string, { usage }: Pick<Command, 'usage'>): CommandAnswer {
  return refused(`${problem}\nUsage: ${usage}`)
}
