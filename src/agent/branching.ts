import { FamiliarError } from '../protocol/errors.ts'
import { isOwnWords } from '../security/approvals.ts'
import type { Admission } from './admission.ts'
import type { ConversationDependencies, InboundMessage, Receipt } from './conversations.ts'
import { findMessage, type SessionGates } from './session-admin.ts'
import { askedIn, isOn, type TurnPlace, type TurnTree, turnTree } from './sessions/branches.ts'
import type { EventOf, LoggedEvent, SessionEvent } from './sessions/session-event.ts'
import { appendEvents } from './sessions/session-log.ts'
import type { Session } from './sessions/sessions.ts'

/** The alternatives at one message of the conversation, each as the first message of its turn; this one is among them. */
export interface MessageBranches {
  messageId: string
  /** One for each wording of the message. */
  edits: string[]
  /** One for each answer to this wording. */
  answers: string[]
}

/** The new message, or the same one again. */
type Resent = Pick<InboundMessage, 'clientTools'> & { text?: string | undefined }

/** Answers made again and messages edited inside one conversation: each starts a branch, and the log keeps all. */
export function createBranching(
  dependencies: ConversationDependencies,
  { ofOwn, ofQuiet }: SessionGates,
  { submit }: Pick<Admission, 'submit'>,
) {
  const { log, inbox, openSessions, sessions } = dependencies

  async function messagesOf(sessionId: string, { turnId }: TurnPlace): Promise<EventOf<'message_received'>[]> {
    const events = await log.readTurn(sessionId, turnId)
    return events.filter((event) => event.type === 'message_received')
  }

  async function treeOf({ id }: Session): Promise<{ turns: TurnPlace[]; tree: TurnTree; lastSeq: number }> {
    const [jumps, turns, [last]] = await Promise.all([
      log.readJumps(id),
      log.readTurnPlaces(id),
      log.readBack(id, { limit: 1 }),
    ])
    const lastSeq = last?.seq ?? 0
    return { turns, tree: turnTree(jumps, turns, lastSeq), lastSeq }
  }

  async function turnOf(session: Session, messageId: string, turns: readonly TurnPlace[]): Promise<TurnPlace> {
    const found = await findMessage(log, session.id, messageId)
    const turn = turns.find(({ turnId }) => turnId === found.turnId)
    if (!turn) throw new FamiliarError('conflict', 'This message has no answer yet')
    return turn
  }

  async function refuseQueued({ id, state }: Session): Promise<void> {
    if (state === 'archived') throw new FamiliarError('conflict', 'This conversation is archived. Start a new one')
    const open = await inbox.openIn(id)
    if (open) throw new FamiliarError('conflict', 'A message is queued in this conversation. Wait for its answer')
  }

  async function jump(session: Session, event: SessionEvent): Promise<void> {
    openSessions.follow(session.id, await log.record({ sessionId: session.id, turnId: null }, [event]))
    if (dependencies.roleOf(session).remembers) dependencies.learning.afterTurn(session)
  }

  return {
    /** Of every message of the conversation that has alternatives. */
    branches: ofOwn(async (session): Promise<MessageBranches[]> => {
      if ((await log.readJumps(session.id)).length === 0) return []
      const { turns, tree } = await treeOf(session)
      const found: MessageBranches[] = []
      for (const turn of turns) {
        const siblings = isOn(tree.path, turn.seq) ? tree.siblings(turn) : []
        if (siblings.length < 2) continue
        const asked = await Promise.all(
          siblings.map(async (sibling) => {
            const messages = await messagesOf(session.id, sibling)
            return { messageId: messages[0]?.messageId ?? '', asked: askedIn(messages) }
          }),
        )
        const own = asked[siblings.indexOf(turn)]
        if (!own) continue
        const wordings = Map.groupBy(asked, (one) => one.asked)
        const answers = (wordings.get(own.asked) ?? []).map(({ messageId }) => messageId)
        const edits = [...wordings].map(([wording, all]) => {
          return wording === own.asked ? own.messageId : (all.at(-1)?.messageId ?? '')
        })
        found.push({ messageId: own.messageId, edits, answers })
      }
      return found
    }),
    /** The conversation continues with the branch of this message, where it ended last. */
    chooseBranch: ofQuiet(async (session, messageId: string): Promise<void> => {
      await refuseQueued(session)
      const { turns, tree } = await treeOf(session)
      const toSeq = tree.leafOf(await turnOf(session, messageId, turns))
      if (toSeq !== tree.path.at(-1)?.through) await jump(session, { type: 'branch_chosen', toSeq })
    }),
    /**
     * The branch of this message is no longer offered; choosing it again brings it back. The conversation continues with
     * another branch at the message, or before it.
     */
    removeBranch: ofQuiet(async (session, messageId: string): Promise<void> => {
      await refuseQueued(session)
      const { turns, tree } = await treeOf(session)
      const turn = await turnOf(session, messageId, turns)
      if (!isOn(tree.path, turn.seq)) throw new FamiliarError('conflict', 'This message is on another branch')
      const siblings = tree.siblings(turn)
      const at = siblings.indexOf(turn)
      const next = siblings[at - 1] ?? siblings[at + 1]
      const toSeq = next ? tree.leafOf(next) : tree.before(turn)
      await jump(session, { type: 'branch_chosen', toSeq, removed: turn.turnId })
    }),
    /** Answers a message of the user once more, with another text where one is given. Its files are kept. */
    resend: ofQuiet(async (session, messageId: string, { text, clientTools }: Resent): Promise<Receipt> => {
      await refuseQueued(session)
      const { turns, tree, lastSeq } = await treeOf(session)
      const turn = await turnOf(session, messageId, turns)
      const messages = await messagesOf(session.id, turn)
      // The new message counts as the user's own words, so the old one must be.
      if (!messages.every(isOwnWords)) {
        throw new FamiliarError('bad_request', 'Only your own messages can be sent again. Send a new message instead')
      }
      const isHere = isOn(tree.path, turn.seq)
      const toSeq = tree.before(turn)
      const event: SessionEvent = isHere ? { type: 'rewound', toSeq } : { type: 'branch_chosen', toSeq }
      const { id, userId, channel, contact } = session
      let logged: LoggedEvent[] = []
      return submit(
        {
          userId,
          channel,
          contact,
          sender: userId,
          source: 'web',
          text: messages.map((said) => (said.messageId === messageId && text) || said.text).join('\n'),
          media: messages.flatMap(({ media }) => media.map(({ reading: _, ...part }) => part)),
          immediate: true,
          metadata: {},
          ...(clientTools && { clientTools }),
        },
        async (writer) => {
          const now = await sessions.getIn(writer, userId, id)
          if (now?.state !== 'active' || now.lastSeq !== lastSeq) {
            throw new FamiliarError('conflict', 'The conversation changed in the meantime. Try again')
          }
          logged = await appendEvents(writer, {
            sessionId: id,
            turnId: null,
            events: [event],
            at: dependencies.clock.now(),
          })
        },
        () => {
          openSessions.follow(id, logged)
          log.wake(id)
        },
      )
    }),
  }
}
