import type { Conversations } from '../../../agent/conversations.ts'
import { textOf } from '../../../sessions/projection.ts'
import type { LoggedEvent } from '../../../sessions/session-event.ts'
import type { Session } from '../../../sessions/sessions.ts'
import { textHash } from './client-list.ts'
import { readMark } from './message-mark.ts'

/** A turn of a session as its log tells it, reduced to what a client's list is compared with. */
export interface PastTurn {
  turnId: string
  firstSeq: number
  messageIds: string[]
  /** The hash of what the client said, without what was put around it. */
  said: string
  /** The hash of the instructions that the client had then; undefined where it had none. */
  instructions: string | undefined
  /** They stand in it. */
  tells: boolean
  key: string | undefined
  /** Null while it runs. */
  outcome: string | null
  /** What the user was shown in the end, and all that was said on the way to it. */
  answer: string
  spoken: string[]
  /** Calls that wait for their client. */
  openCalls: Set<string>
  /** Only a summary of it is left; there is no way back before it. */
  isSummarised: boolean
}

interface KnownSession {
  seq: number
  turns: PastTurn[]
}

const maxKnown = 64
const pageSize = 1_000

/** The turns of sessions that still count, oldest first. What was read stays at hand: a list comes with every message. */
export function createPastTurns(
  conversations: Pick<Conversations, 'history'>,
): (session: Session) => Promise<PastTurn[]> {
  const known = new Map<string, KnownSession>()
  return async ({ id, userId }) => {
    const state = known.get(id) ?? { seq: 0, turns: [] }
    known.delete(id)
    for (;;) {
      const events = await conversations.history(userId, id, { after: state.seq, limit: pageSize })
      // Two readers may be here at once: an event that the other one took in is not taken in again.
      for (const event of events) if (event.seq > state.seq) take(state, event)
      if (events.length < pageSize) break
    }
    known.set(id, state)
    const oldest = known.size > maxKnown ? known.keys().next().value : undefined
    if (oldest !== undefined) known.delete(oldest)
    return [...state.turns]
  }
}

function take(state: KnownSession, event: LoggedEvent): void {
  state.seq = event.seq
  if (event.type === 'rewound') state.turns = state.turns.filter(({ firstSeq }) => firstSeq <= event.toSeq)
  if (event.type === 'compacted') {
    for (const turn of state.turns) if (turn.firstSeq <= event.throughSeq) turn.isSummarised = true
  }
  if (event.turnId !== null) takeOfTurn(turnOf(state, event.turnId, event.seq), event)
}

function turnOf(state: KnownSession, turnId: string, seq: number): PastTurn {
  const last = state.turns.findLast((turn) => turn.turnId === turnId)
  if (last) return last
  const turn: PastTurn = {
    turnId,
    firstSeq: seq,
    messageIds: [],
    said: '',
    instructions: undefined,
    tells: false,
    key: undefined,
    outcome: null,
    answer: '',
    spoken: [],
    openCalls: new Set(),
    isSummarised: false,
  }
  state.turns.push(turn)
  return turn
}

function takeOfTurn(turn: PastTurn, event: LoggedEvent): void {
  switch (event.type) {
    case 'message_received': {
      const mark = readMark(event.metadata)
      turn.messageIds.push(event.messageId)
      turn.said = mark?.said ?? textHash(event.text)
      turn.instructions = mark?.instructions
      turn.tells = mark?.tells ?? false
      turn.key = mark?.key
      return
    }
    case 'model_responded':
      turn.spoken.push(textOf(event.parts))
      return
    case 'tool_started':
      if (event.isClients) turn.openCalls.add(event.callId)
      return
    case 'tool_finished':
      turn.openCalls.delete(event.callId)
      if (event.says) turn.spoken.push(event.says)
      return
    case 'turn_ended':
      turn.outcome = event.outcome
      turn.answer = event.deliver ? event.text : ''
      turn.openCalls.clear()
  }
}
