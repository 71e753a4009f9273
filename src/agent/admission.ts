import { z } from 'zod'
import { formatCount, toStorableText } from '../base/text.ts'
import { type OpenChoices, readChoices } from '../protocol/choices.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { isWorkChannel } from '../protocol/messages.ts'
import type { ApprovalScope } from '../protocol/permissions.ts'
import { approvedText, deniedText } from '../security/approval-texts.ts'
import {
  type AnswerOutcome,
  type Approval,
  type ApprovalAnswer,
  type Approvals,
  approvalSource,
  isOwnWords,
  labelOfSource,
  reportSource,
} from '../security/approvals.ts'
import { readApprovalAnswer } from '../security/spoken-answer.ts'
import type { Database, Writer } from '../storage/database.ts'
import { type ClientAnswer, refuseOurNames } from './client-calls.ts'
import type {
  ConversationDependencies,
  ConversationParts,
  InboundMessage,
  Receipt,
  TurnReply,
} from './conversations.ts'
import { approvalAsked } from './event-stream.ts'
import type { InboundPayload, Inbox, InboxMessage } from './sessions/inbox.ts'
import { isEarly, offeredScopes, type Projection } from './sessions/projection.ts'
import type { SessionEvent } from './sessions/session-event.ts'
import type { Session, SessionKey, Sessions } from './sessions/sessions.ts'
import { askOf } from './subagent-questions.ts'

export type Admission = ReturnType<typeof createAdmission>

/** Everything that comes in: messages, results of client tools, answers to approvals; and the wait for the reply. */
export function createAdmission(dependencies: ConversationDependencies, { runner, waiters, own }: ConversationParts) {
  const { sessions, inbox, openSessions, clientCalls, approvals, settings, onStep } = dependencies

  function refuseClosing(): void {
    if (runner.isClosing())
      throw new FamiliarError('unavailable', 'Familiar is stopping. Send the message again in a moment')
  }

  /** The message is committed, so its turn will run. */
  function enqueue(message: InboxMessage): void {
    waiters.expect(message.id)
    runner.add(message)
  }

  /**
   * The fast path for a message whose sender waits: if its session is idle, admission and the start of the turn are one
   * commit. Undefined if the message has to be queued.
   */
  async function startAtOnce(key: SessionKey, payload: InboundPayload): Promise<Receipt | undefined> {
    // Reading files takes a moment, so a message with files is stored first.
    if (!runner.startsAtOnce || payload.media.length > 0) return undefined
    const session = await sessions.find(key)
    if (!session) return undefined
    const draft = inbox.draft(session, payload)
    const written = runner.runDraft(session, draft)
    if (!written) return undefined
    waiters.expect(draft.id)
    try {
      await written
    } catch (cause) {
      waiters.forget(draft.id)
      if (cause instanceof FamiliarError && cause.code === 'conflict') return undefined
      throw cause
    }
    onStep('inbox_committed')
    return { messageId: draft.id, sessionId: session.id, duplicate: false }
  }

  /**
   * A button was pressed: the message answers exactly this question, or is refused. Its key is the question's, so that of
   * two answers at the same time one is accepted.
   */
  async function admitAnswer(key: SessionKey, payload: InboundPayload, also?: (writer: Writer) => Promise<void>) {
    const { answers = '', text } = payload
    if (!isOwnWords(payload)) throw new FamiliarError('forbidden', 'Only a message of the user answers a question')
    const keyed = { ...payload, key: `answer:${answers}` }
    const isKnown = await inbox.knows(key.userId, keyed.key)
    const session = isKnown ? undefined : await sessions.find(key)
    if (session) openSessions.catchUp(session)
    const choices = session && (await openSessions.projection(session.id)).pendingChoices
    const queued = session ? ((await inbox.openIn(session.id))?.queued ?? []) : []
    if (!isKnown && (choices?.id !== answers || queued.some(isOwnWords))) throw answeredAlready()
    if (choices && !readChoices(text, choices)) {
      throw new FamiliarError('bad_request', 'The message is none of the options of this question')
    }
    try {
      return await inbox.admit(key, keyed, also)
    } catch (cause) {
      throw cause instanceof FamiliarError && cause.code === 'conflict' ? answeredAlready() : cause
    }
  }

  return {
    /**
     * `also` writes in the commit of the message, or in the commit that finds a message with this key already there;
     * `onCommitted` is called after it, before the turn of the message can start.
     */
    async submit(
      inbound: InboundMessage,
      also?: (writer: Writer) => Promise<void>,
      onCommitted?: () => void,
    ): Promise<Receipt> {
      refuseClosing()
      const { userId, channel, contact, key, ...rest } = checkInbound(inbound, settings.maxMessageCharacters)
      refuseOurNames(dependencies.tools.viewOf(userId), rest.clientTools ?? [])
      const profile = rest.tier ?? settings.profileOf(rest.source)
      dependencies.context.requireProfile(profile)
      const sessionKey = { userId, channel, contact }
      const label = rest.label ?? labelOfSource(rest.source)
      const payload = { ...rest, tier: profile, ...(label && { label }) }
      const mayStart = key === undefined && !also && rest.immediate && rest.answers === undefined
      const started = mayStart ? await startAtOnce(sessionKey, payload) : undefined
      if (started) return started
      const admission =
        payload.answers === undefined
          ? await inbox.admit(sessionKey, { ...payload, key: key ?? null }, also)
          : await admitAnswer(sessionKey, payload, also)
      onCommitted?.()
      onStep('inbox_committed')
      const { message } = admission
      if (admission.admitted) enqueue(message)
      return { messageId: message.id, sessionId: message.sessionId, duplicate: !admission.admitted }
    },
    /** Resolves with the end of the message's turn, however long that takes. Aborting the wait does not stop the turn. */
    waitForTurn: (messageId: string, signal?: AbortSignal) => waiters.wait(messageId, signal),
    /** The same, or the calls that the client must make before the turn continues. */
    async waitForReply(messageId: string, signal?: AbortSignal): Promise<TurnReply> {
      const over = new AbortController()
      const either = AbortSignal.any([over.signal, ...(signal ? [signal] : [])])
      const place = async () => (await inbox.find(messageId)) ?? { sessionId: '', turnId: null }
      const asked = clientCalls
        .waitForCalls(async () => (await place()).turnId, either)
        .then(async (calls) => {
          const { sessionId, turnId } = await place()
          return { kind: 'asks' as const, sessionId, turnId: turnId ?? '', calls }
        })
      asked.catch(() => undefined)
      try {
        const ended = waiters.wait(messageId, either).then((end) => ({ kind: 'ended' as const, end }))
        ended.catch(() => undefined)
        return await Promise.race([ended, asked])
      } finally {
        over.abort()
      }
    },
    /** Resolves with a message whose turn continues. */
    async giveToolResults(given: ClientAnswer): Promise<{ messageId: string }> {
      refuseClosing()
      await own(given.userId, given.sessionId)
      const { turnId } = await clientCalls.answer(given)
      return { messageId: await inbox.messageOf(turnId) }
    },
    /** A message that was admitted together with something else. */
    enqueue,
    approvals: (userId: string) => approvals.pending(userId),
    /** The options of the question that waits in a session; null if there is none. */
    async openChoices(key: SessionKey): Promise<OpenChoices | null> {
      const session = await sessions.find(key)
      if (!session) return null
      openSessions.catchUp(session)
      return (await openSessions.projection(session.id)).pendingChoices
    },
    /** An answer from outside the conversation; the agent continues by itself. `conflict` if it comes too late. */
    async answerApproval(answer: ApprovalAnswer): Promise<Approval> {
      refuseClosing()
      const { approval, message } = await dependencies.answerApproval(answer)
      onStep('inbox_committed')
      if (message) enqueue(message)
      return approval
    },
  }
}

function answeredAlready(): FamiliarError {
  return new FamiliarError('conflict', 'This question is no longer open: it was answered, or another one followed.')
}

const maxContactLength = 200

/** Limits on a message: storable text up to the maximum length, and names that can be keys. */
function checkInbound(inbound: InboundMessage, limit: number): InboundMessage {
  const text = toStorableText(inbound.text)
  if (text.trim() === '' && inbound.media.length === 0) throw new FamiliarError('bad_request', 'The message is empty')
  if (text.length > limit) {
    const length = `${formatCount(text.length)} characters; the limit is ${formatCount(limit)}`
    throw new FamiliarError('payload_too_large', `The message has ${length}. Attach it as a file instead.`)
  }
  const contact = toStorableText(inbound.contact).trim()
  if (contact === '' || contact.length > maxContactLength) {
    throw new FamiliarError('bad_request', `A session name must have 1 to ${maxContactLength} characters`)
  }
  return { ...inbound, text, contact, sender: toStorableText(inbound.sender) }
}

interface SpokenAnswers {
  answer: 'approve' | 'deny'
  scope: ApprovalScope
  approvals: readonly Approval[]
  from: string
}

/** The open approvals that can be answered in a session: its own, and those of its sub-agents. */
export type OpenApprovals = (session: Pick<Session, 'id' | 'userId'>) => Promise<Approval[]>

/**
 * The approvals that the user answers in a message: those that the previous turn ended with, and only by a plain answer
 * that the user wrote. Undefined for everything else, which is no approval.
 */
export async function readSpokenAnswers(
  readOpen: OpenApprovals,
  said: { session: Session; messages: readonly InboxMessage[]; projection: Projection },
): Promise<SpokenAnswers | undefined> {
  const { session, messages, projection } = said
  const [message] = messages
  if (projection.pendingApprovals.length === 0 || !message || messages.length > 1) return undefined
  if (!isOwnWords(message) || message.media.length > 0 || message.answers !== undefined) return undefined
  if (isEarly(projection, message)) return undefined
  const spoken = readApprovalAnswer(message, offeredScopes(projection.pendingApprovals))
  if (!spoken) return undefined
  const { answer } = spoken
  const scope = spoken.answer === 'approve' ? spoken.scope : 'once'
  const pending = await readOpen(session)
  const asked = pending.filter(({ id }) => projection.pendingApprovals.some((approval) => approval.id === id))
  return asked.length > 0 ? { answer, scope, approvals: asked, from: session.channel } : undefined
}

const asksSchema = z.array(z.string())

/** The open approvals that a sub-agent asks for in a message to the conversation above it. */
export async function readAsks(
  readOpen: OpenApprovals,
  said: { session: Session; messages: readonly InboxMessage[]; projection: Projection },
): Promise<SessionEvent[]> {
  const { session, messages, projection } = said
  const asked = messages.flatMap(({ source, metadata }) => {
    const read = source === reportSource ? asksSchema.safeParse(metadata.asks) : undefined
    return read?.success ? read.data : []
  })
  if (asked.length === 0) return []
  const isShown = (id: string) => projection.pendingApprovals.some((one) => one.id === id)
  const open = (await readOpen(session)).filter(({ id }) => asked.includes(id) && !isShown(id))
  return open.map((approval) => approvalAsked(askOf(approval)))
}

/** Lines about it for the model. The call of a sub-agent is made by the sub-agent. */
export function tellAnswers({ id }: Session, answers: SpokenAnswers | undefined): string[] {
  if (!answers) return []
  return answers.approvals.map((approval) => {
    if (approval.sessionId !== id) return answers.answer === 'approve' ? goesOn(approval) : goesOnWithout(approval)
    return answers.answer === 'approve' ? approvedText(approval) : deniedText(approval)
  })
}

const goesOn = ({ tool }: Approval) =>
  `The user approved the call of ${tool} that your sub-agent asked for. The sub-agent continues by itself. sessions_wait waits for its answer.`
const goesOnWithout = ({ tool }: Approval) =>
  `The user denied the call of ${tool} that your sub-agent asked for. The sub-agent continues without it. sessions_wait waits for its answer.`

export type GiveAnswers = ReturnType<typeof createAnswerApproval>['spoken']

export type AnswerApproval = ReturnType<typeof createAnswerApproval>['elsewhere']

/**
 * The user's answers. An answer and the message that makes the agent continue are one unit, and the same answer twice
 * counts once.
 */
export function createAnswerApproval(dependencies: {
  database: Database
  approvals: Approvals
  sessions: Sessions
  inbox: Inbox
  profileOf(source: string): string
}) {
  const { database, approvals, sessions, inbox, profileOf } = dependencies

  /** Lets the session continue that asked. Undefined if it is archived. */
  async function admitIn(
    writer: Writer,
    approval: Approval,
    scope: ApprovalScope = 'once',
  ): Promise<InboxMessage | undefined> {
    const session = await sessions.getIn(writer, approval.userId, approval.sessionId)
    if (session?.state !== 'active') return undefined
    const { message } = await inbox.admitIn(writer, session, {
      key: approval.id,
      text: approval.state === 'denied' ? deniedText(approval) : approvedText(approval),
      media: [],
      sender: approvalSource,
      // Work in the background has one queue per channel, and its source names it.
      source: isWorkChannel(session.channel) ? session.channel : approvalSource,
      tier: profileOf(session.channel),
      immediate: true,
      metadata: { approvalId: approval.id, answer: approval.state === 'denied' ? 'deny' : 'approve', scope },
      label: 'internal',
    })
    return message
  }

  return {
    /** From outside the conversation. */
    elsewhere: (answer: ApprovalAnswer) =>
      database.write(async (writer) => {
        const outcome = await approvals.answer(writer, answer)
        if (!outcome.ok) throw refusal(answer.id, outcome.reason)
        const { approval, isNew } = outcome
        if (!isNew) return { approval, message: undefined }
        const message = await admitIn(writer, approval, answer.scope)
        if (!message) throw new FamiliarError('conflict', 'The session of this request is archived.')
        return { approval, message }
      }),
    /**
     * In the unit that starts the turn of the answer. An expired approval stays unanswered: its call asks again. Returns
     * the messages that let sub-agents continue.
     */
    async spoken(writer: Writer, { id }: Session, { answer, scope, from, approvals: asked }: SpokenAnswers) {
      const messages: InboxMessage[] = []
      for (const { id: approvalId, userId } of asked) {
        const outcome = await approvals.answer(writer, { userId, id: approvalId, answer, scope, from })
        const isElsewhere = outcome.ok && outcome.isNew && outcome.approval.sessionId !== id
        const message = isElsewhere ? await admitIn(writer, outcome.approval, scope) : undefined
        if (message) messages.push(message)
      }
      return messages
    },
  }
}

const refusals = {
  expired: 'This request has expired. Ask again to get a new one.',
  answered_otherwise: 'This request was already answered differently.',
  broken_seal: 'The stored request has changed since you saw it. It was not approved.',
  only_once: 'This call can only be allowed once: it names no destination that could be allowed for longer.',
}

function refusal(id: string, reason: Extract<AnswerOutcome, { ok: false }>['reason']): FamiliarError {
  if (reason === 'not_found') return new FamiliarError('not_found', `There is no approval request ${id}`)
  return new FamiliarError('conflict', refusals[reason])
}
