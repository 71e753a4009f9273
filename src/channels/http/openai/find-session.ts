import type { Conversations } from '../../../agent/conversations.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { Session } from '../../../sessions/sessions.ts'
import { isSessionId } from '../inbound-message.ts'
import { type Alignment, alignList, isSameSaid } from './align-list.ts'
import type { ClientList } from './client-list.ts'
import type { PastTurn } from './past-turns.ts'
import { isRepeatOf, type Repeat } from './repeat.ts'
import { readResponseId } from './response-id.ts'
import { branchName, isBranchOf, openAiChannel, type SessionName } from './session-name.ts'

/** Where a list goes on: in a session at a place of it, or in a new one. */
export type Place =
  | {
      session: Session
      turns: PastTurn[]
      alignment: Alignment
      /** What came after that place stays as it is: the list goes on in a copy of the session. */
      inCopy?: true
    }
  | { session: undefined; contact: string }

interface FindSessionDependencies {
  conversations: Pick<Conversations, 'sessions' | 'findSession' | 'fork' | 'rewind'>
  pastTurns(session: Session): Promise<PastTurn[]>
}

/**
 * The session that the list is of. The list is the client's truth: edited, shortened or asked again, it goes on where it
 * agrees, and a list that agrees with none begins a new session. Only where the client names one session, and tells
 * nothing of earlier talk, the message is simply the next one there.
 */
export async function findSession(
  { conversations, pastTurns }: FindSessionDependencies,
  { userId, name, list, repeat }: { userId: string; name: SessionName; list: ClientList; repeat: Repeat },
): Promise<Place> {
  const toPlace = async (session: Session): Promise<Place & { session: Session }> => {
    const turns = await pastTurns(session)
    return { session, turns, alignment: placeIn(turns, { name, list, isOurs: session.channel === openAiChannel }) }
  }
  if (name.from === 'header' && isSessionId(name.name)) {
    const session = await conversations.findSession(userId, name.name)
    if (!session) throw new FamiliarError('not_found', `There is no session ${name.name}`)
    if (session.state === 'archived') throw new FamiliarError('conflict', `Session ${session.id} is archived`)
    return toPlace(session)
  }
  const ours = (await conversations.sessions(userId)).filter(({ channel }) => channel === openAiChannel)
  const own = ours.find(({ contact }) => contact === name.name)
  if (name.from === 'header' || (name.from === 'user' && list.past.length === 0)) {
    return own ? toPlace(own) : { session: undefined, contact: name.name }
  }
  const places = await Promise.all(ours.filter(({ contact }) => isBranchOf(contact, name.name)).map(toPlace))
  const fitting = places.filter(({ turns, alignment }) => isContinued(turns, alignment, { list, repeat }))
  const [best] = fitting.toSorted(
    (one, other) => other.alignment.agreed - one.alignment.agreed || undone(one) - undone(other),
  )
  return best ?? { session: undefined, contact: own ? branchName(name.name) : name.name }
}

/** The session of an earlier answer, behind that answer. */
export async function findResponse(
  { conversations, pastTurns }: FindSessionDependencies,
  { userId, responseId }: { userId: string; responseId: string },
): Promise<Place> {
  const named = readResponseId(responseId)
  const session = named && (await conversations.findSession(userId, named.sessionId))
  const turns = session?.state === 'active' ? await pastTurns(session) : []
  const through = turns.findIndex(({ messageIds }) => messageIds.includes(named?.messageId ?? '')) + 1
  if (!session || through === 0 || turns[through - 1]?.isSummarised) {
    throw new FamiliarError('not_found', 'previous_response_id: there is no such response')
  }
  const place = { session, turns, alignment: { agreed: 0, through } }
  return through === turns.length ? place : { ...place, inCopy: true }
}

/** The copy in which a list goes on, whose newest turn is the one that it goes on behind. */
export async function copySession(
  { conversations, pastTurns }: FindSessionDependencies,
  place: Extract<Place, { session: Session }>,
): Promise<Place> {
  const { session, alignment } = place
  const { userId } = session
  const copy = await conversations.fork(userId, session.id, branchName(session.contact))
  const { length } = await pastTurns(copy)
  if (length > alignment.through) await conversations.rewind(userId, copy.id, { turns: length - alignment.through })
  return { session: copy, turns: await pastTurns(copy), alignment }
}

function placeIn(
  turns: readonly PastTurn[],
  { name, list, isOurs }: { name: SessionName; list: ClientList; isOurs: boolean },
): Alignment {
  const { past, newest } = list
  const atEnd = { agreed: past.length, through: turns.length }
  // A conversation of another channel is not the client's to undo: only its newest message is news there.
  if (!isOurs) return atEnd
  if (past.length > 0 || name.from === 'list') return alignList(turns, past)
  const isAskedAgain = turns.length === 1 && isSameSaid(turns[0], newest)
  return isAskedAgain ? { agreed: 0, through: 0 } : atEnd
}

/**
 * Whether the list tells of the session at all. The first message of a talk tells of none: the same may have been said
 * before, in a talk that goes on elsewhere. Only one that has no answer yet, or is asked for once more, is taken up.
 */
function isContinued(
  turns: readonly PastTurn[],
  { agreed }: Alignment,
  { list, repeat }: { list: ClientList; repeat: Repeat },
): boolean {
  if (list.past.length > 0) return agreed > 0
  const [first, second] = turns
  if (!first) return true
  if (second || !isSameSaid(first, list.newest)) return false
  return first.outcome === null || first.outcome === 'failed' || isRepeatOf(repeat, first)
}

function undone({ turns, alignment }: { turns: PastTurn[]; alignment: Alignment }): number {
  return turns.length - alignment.through
}
