import type { SystemBlock } from '../models/model.ts'
import type { Purpose } from '../models/models.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Writer } from '../storage/database.ts'
import type { ToolView } from '../tools/registry.ts'

/** Who answers in a session: what it is told, what it can do, and how far it may go. One loop serves them all (LOOP-1). */
export interface Role {
  tools: ToolView
  /** The blocks of a tier, stable first. The same always gives the same bytes. */
  system(tier: string): SystemBlock[]
  /** Whether they hold what the user wrote of themself. */
  holdsPrivate(tier: string): boolean
  /** Words of others were in sight where its work was given to it (SEC-17). */
  holdsUntrusted?: true
  /** The route of models that it takes, and what its calls are filed under. */
  purpose: Purpose
  /** In place of the route, where it is configured. */
  model?: string
  /** The turn that its calls are paid by, where that is not its own: the cap of a message holds for all that it set off. */
  countsTo?: string
  /** Nobody would hear it: a call that needs the user's word is refused. */
  cannotAsk?: true
  maxRounds: number
  /** Whether it knows the user: memories come to mind before a turn, and what was said is learnt from after it. */
  remembers: boolean
  /** What it has not heard yet and should know. `onTold` is called in the unit that begins the turn. */
  news(session: Session): Promise<News | undefined>
}

export interface News {
  lines: string[]
  /** They may be in the words of others: that marks the session for good. */
  isUntrusted: boolean
  onTold(writer: Writer): Promise<void>
}

export type RoleOf = (session: Session) => Role
