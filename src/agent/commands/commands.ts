import type { Label } from '../../protocol/label.ts'
import type { Command, CommandAnswer } from './command.ts'

export interface CommandRequest {
  userId: string
  /** Null where there is none yet. It is the user's own: the way in has looked it up. */
  sessionId: string | null
  /** As it was typed, with its slash. */
  line: string
  by: 'user' | 'agent'
  /** Whose words the line is. Absent: the owner's, and of an agent its own. */
  trust?: Label
  /** From the question that the user has said yes to. */
  confirm?: string | undefined
  signal: AbortSignal
}

export interface CommandOutcome extends CommandAnswer {
  /** Nothing was done: the user is to be asked this, and with their yes the same line comes again with `confirm`. */
  question?: { text: string; confirm: string }
}

interface Completion {
  /** Where in the line the candidates begin. */
  start: number
  /** What may stand from there on, best first. */
  candidates: readonly { text: string; summary?: string }[]
}

/** What can be typed with a slash, the same for every way in: terminal, page, HTTP, and the agent's `slash_command`. */
export interface Commands {
  /** In order of name. */
  list(): readonly Omit<Command, 'run' | 'complete' | 'acts'>[]
  /** Names first, then what fits behind the name. Never fails: what cannot be told is left out. */
  complete(request: { userId: string; sessionId: string | null; line: string }): Promise<Completion>
  /** Never throws for what was typed: that is an outcome that is not ok. */
  run(request: CommandRequest): Promise<CommandOutcome>
  /** Whether the line would change something without asking first, decided by the line alone; true of what is unknown. */
  acts(line: string): boolean
}
