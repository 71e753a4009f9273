import type { Conversations } from '../../agent/conversations.ts'
import { isJump, isOn, type Jump, pathOf } from '../../agent/sessions/branches.ts'
import { textOf } from '../../agent/sessions/projection.ts'
import type { LoggedEvent } from '../../agent/sessions/session-event.ts'
import type { Session } from '../../agent/sessions/sessions.ts'
import { sha256 } from '../../base/ids.ts'
import { canonicalJson } from '../../base/json.ts'
import { setNewest } from '../../base/work.ts'
import { messageRequestSchema } from '../../protocol/api.ts'
import { plainReply } from '../../protocol/choices.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { HttpContext } from '../dependencies.ts'
import { isSessionId } from '../inbound-message.ts'
import { type ClientList, listedContentHash, type MessageMark, readMessageMark, textHash } from './client-list.ts'

/** A turn of a session, reduced to the parts that a client's list is compared with. */
export type PastTurn = ReturnType<typeof newTurn>

function newTurn(turnId: string, firstSeq: number, at: number) {
  return {
    turnId,
    firstSeq,
    /** When its first event was written. */
    at,
    messageIds: [] as string[],
    /** The mark of the client's message, with the hash of its text without additions. */
    mark: { said: '' } as MessageMark,
    /** Null while it runs. */
    outcome: null as string | null,
    /** The final text for the user, and everything that was said before it. */
    answer: '',
    spoken: [] as string[],
    /** Calls that wait for their client. */
    openCalls: new Set<string>(),
    /** Only a summary of it is left, so it cannot be rewound. */
    isSummarised: false,
  }
}

interface KnownSession {
  seq: number
  /** Also those of other branches. */
  turns: PastTurn[]
  jumps: Jump[]
}

const maxKnown = 64
const pageSize = 1_000

/** The turns of sessions that still count, oldest first. They are cached, because a list comes with every message. */
export function createPastTurns(
  conversations: Pick<Conversations, 'history'>,
): (session: Session) => Promise<PastTurn[]> {
  const known = new Map<string, KnownSession>()
  return async ({ id, userId }) => {
    const state = known.get(id) ?? { seq: 0, turns: [], jumps: [] }
    known.delete(id)
    for (;;) {
      const events = await conversations.history(userId, id, { after: state.seq, limit: pageSize })
      // Two readers may be here at once: an event that the other one took in is not taken in again.
      for (const event of events) if (event.seq > state.seq) take(state, event)
      if (events.length < pageSize) break
    }
    setNewest(known, id, state, maxKnown)
    const path = pathOf(state.jumps, state.seq)
    return state.turns.filter(({ firstSeq }) => isOn(path, firstSeq))
  }
}

function take(state: KnownSession, event: LoggedEvent): void {
  state.seq = event.seq
  if (isJump(event)) state.jumps.push(event)
  if (event.type === 'compacted') {
    for (const turn of state.turns) if (turn.firstSeq <= event.throughSeq) turn.isSummarised = true
  }
  const { turnId, seq, at } = event
  if (turnId === null) return
  const known = state.turns.findLast((turn) => turn.turnId === turnId)
  const turn = known ?? newTurn(turnId, seq, at)
  if (!known) state.turns.push(turn)
  takeOfTurn(turn, event)
}

function takeOfTurn(turn: PastTurn, event: LoggedEvent): void {
  switch (event.type) {
    case 'message_received':
      turn.messageIds.push(event.messageId)
      turn.mark = readMessageMark(event.metadata) ?? { said: textHash(event.text) }
      return
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
      turn.answer = event.deliver ? plainReply(event) : ''
      turn.openCalls.clear()
  }
}

/** The channel of all sessions of OpenAI clients. */
export const openAiChannel = 'openai'

/**
 * The conversation of a request. `header`: exactly this one. `user`: a user with several conversations, identified by
 * their beginnings. `list`: identified only by the messages.
 */
export interface SessionName {
  from: 'header' | 'user' | 'list'
  name: string
}

const maxNameLength = 150

export function sessionNameOf(context: HttpContext, user: string | null | undefined, list: ClientList): SessionName {
  const header = context.req.header('familiar-session')
  if (header !== undefined) return { from: 'header', name: checkedName(header, 'familiar-session') }
  if (user?.trim()) {
    const name = checkedName(user, 'user')
    // Many programs number their users as we number sessions.
    const isOdd = isSessionId(name) || name.length > maxNameLength
    return { from: 'user', name: isOdd ? `user-${sha256(name).slice(0, 24)}` : name }
  }
  const first = list.past[0] ?? list.newest
  const beginning = canonicalJson([list.instructions, listedContentHash(first.said)])
  return { from: 'list', name: `chat-${sha256(beginning).slice(0, 24)}` }
}

/** Another conversation under the same name. */
export function branchName(name: string): string {
  return `${name.slice(0, maxNameLength)}~${crypto.randomUUID().slice(0, 8)}`
}

export function isBranchOf(contact: string, name: string): boolean {
  return contact === name || contact.startsWith(`${name.slice(0, maxNameLength)}~`)
}

function checkedName(text: string, where: string): string {
  const checked = messageRequestSchema.shape.session.safeParse(text)
  if (checked.success) return checked.data
  throw new FamiliarError('bad_request', `${where}: ${checked.error.issues[0]?.message ?? 'is not a valid name'}`)
}
