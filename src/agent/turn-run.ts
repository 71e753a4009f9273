import type { ToolCallPart } from '../protocol/message.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Writer } from '../storage/database.ts'
import type { CallPlan } from './call-model.ts'
import type { MadeCall } from './call-records.ts'
import type { Role } from './role.ts'
import type { Said } from './said-in.ts'

/** A turn under way. `signal` aborts for a stop and for a shutdown; `suspended` tells the second from the first. */
export interface TurnRun {
  session: Session
  turnId: string
  signal: AbortSignal
  suspended: () => boolean
  /** In every unit that writes to the turn: throws where the turn is not this daemon's any more. */
  guard?: (writer: Writer) => Promise<void>
}

/** Also a stop that came before the turn was written down, and so left no mark in it. */
export function mustStop(run: TurnRun): boolean {
  return run.signal.aborted && !run.suspended()
}

/** The turn that the calls to models are counted to. */
export function payingTurn(run: TurnRun, { countsTo }: Role): string {
  return countsTo ?? run.turnId
}

export function planCall(run: TurnRun, role: Role, call: Pick<CallPlan, 'models' | 'inputTokens'>): CallPlan {
  const { id: sessionId, userId } = run.session
  return { ...call, userId, sessionId, turnId: payingTurn(run, role), purpose: role.purpose }
}

export function madeCall({ session, turnId }: TurnRun, { userText }: Said, call: ToolCallPart): MadeCall {
  return { userId: session.userId, sessionId: session.id, turnId, userText, call }
}
