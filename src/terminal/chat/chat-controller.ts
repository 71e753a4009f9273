import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Attachment } from '../../protocol/api.ts'
import { chosenLabels } from '../../protocol/choices.ts'
import type { TurnEvent } from '../../protocol/events.ts'
import type { ApprovalOutcome, ApprovalReply, ApprovalScope } from '../../protocol/permissions.ts'
import { readSpokenAnswer } from '../../security/spoken-answer.ts'
import { messageOf } from '../command.ts'
import {
  type Ask,
  type Change,
  displayable,
  emptyTerminalConversation,
  type News,
  type StatusFacts,
  withCodes,
} from './conversation.ts'
import type { TuiPartner } from './daemon-partner.ts'
import { foldConversation } from './fold-conversation.ts'

interface Outgoing {
  text: string
  /** As it stood on the screen. */
  shown: string
  attachments: readonly Attachment[]
  /** The line was started after the question appeared. */
  isAnswer: boolean
  /** The question whose options it chooses. */
  answers?: string
}

export type ChatController = ReturnType<typeof createChatController>

/** A conversation with the actions of the user, and nothing of its look. */
export function createChatController(options: {
  partner: TuiPartner
  clock: Clock
  /** Commands that the screen does itself. */
  ownCommands: Readonly<Record<string, { run(): Promise<void> }>>
  onChange(): void
  onLeave(): void
  signal: AbortSignal
}) {
  const { partner, clock, ownCommands, onChange, onLeave, signal } = options
  let conversation = emptyTerminalConversation
  let facts: StatusFacts = { session: 'main' }
  /** One after the other, so that they arrive in the order in which they were typed. */
  let sending: Promise<void> = Promise.resolve()

  function dispatch(change: Change): void {
    if (signal.aborted) return
    conversation = foldConversation(conversation, change)
    onChange()
  }
  const fail = (error: unknown) => dispatch({ type: 'note', tone: 'bad', text: messageOf(error) })
  const attempt = (work: Promise<unknown>) => void work.catch(fail)
  const asks = createAskSync({ partner, dispatch, asks: () => conversation.asks })
  const lookForBuilds = followBuilds({ partner, dispatch, signal })

  async function refreshFacts(): Promise<void> {
    facts = displayable(await partner.facts())
    dispatch({ type: 'cost_known' })
  }

  function hear(news: News): void {
    switch (news.type) {
      case 'event':
        dispatch({ type: 'event', event: news.event, at: clock.now() })
        react(news.event)
        break
      case 'lost':
        dispatch({ type: 'lost' })
        break
      case 'back':
        dispatch({ type: 'back', text: `connected again: ${news.where}` })
        attempt(asks.refresh())
        lookForBuilds()
        break
      case 'moved':
        dispatch({ type: 'note', tone: 'quiet', text: `now in session ${news.session}` })
        attempt(refreshFacts())
        break
      default:
        news satisfies never
    }
  }

  /** Data to request after this event. */
  function react(event: TurnEvent): void {
    if (event.type === 'approval_request' || event.type === 'turn_start') attempt(asks.refresh())
    if (event.type === 'tool_result' && event.name.includes('capability')) lookForBuilds()
    if (event.type === 'turn_end') {
      attempt(refreshFacts())
      attempt(asks.refresh())
      lookForBuilds()
    }
  }

  async function send({ text, attachments, answers }: Outgoing, key: string): Promise<void> {
    try {
      const { messageId } = await partner.send({ key, text, attachments, ...(answers && { answers }) })
      dispatch({ type: 'accepted', key, messageId })
    } catch (error) {
      dispatch({ type: 'refused', key, reason: `Not sent: ${messageOf(error)}` })
    }
  }

  function say(outgoing: Outgoing): void {
    const key = randomUUID()
    dispatch({ type: 'said', key, shown: outgoing.shown })
    sending = sending.then(() => send(outgoing, key))
  }

  async function command(line: string, confirm?: string): Promise<void> {
    const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? []
    if (name === 'exit' || name === 'quit') return onLeave()
    if (Object.hasOwn(ownCommands, name) && argument === '') return ownCommands[name]?.run()
    const reply = await partner.commands.run(line, confirm)
    if (reply.confirm === undefined) dispatch({ type: 'note', tone: 'plain', text: reply.text })
    else dispatch({ type: 'asked', ask: { kind: 'confirm', id: reply.confirm, line, text: reply.text } })
    attempt(refreshFacts())
  }

  async function giveAnswer(id: string, outcome: Pick<ApprovalOutcome, 'answer' | 'scope'>): Promise<void> {
    try {
      await partner.answerApproval(id, outcome)
    } catch (error) {
      // The question comes back if it is still open; otherwise another client was faster.
      fail(error)
      await asks.refresh()
    }
  }

  function answerAsk(ask: Ask, word: 'approve' | 'deny', scope: ApprovalScope = 'once'): void {
    dispatch({ type: 'settled', id: ask.id })
    if (ask.kind === 'approval') attempt(giveAnswer(ask.id, { answer: word, scope }))
    else if (ask.kind === 'confirm' && word === 'approve') attempt(command(ask.line, ask.id))
    else dispatch({ type: 'note', tone: 'quiet', text: 'nothing changed' })
  }

  function choose(place: number): void {
    const [first] = conversation.asks
    if (first?.kind === 'approval') {
      const scope = first.scopes[place]
      if (scope) answerAsk(first, 'approve', scope)
      return
    }
    if (first?.kind !== 'choice' && first?.kind !== 'question') return
    const text = first.choices ? chosenLabels(first.choices, [place]) : ''
    if (text === '') return
    dispatch({ type: 'settled', id: first.id })
    if (first.kind === 'question') attempt(partner.builds.answer(first.id, text))
    else say({ text, shown: text, attachments: [], isAnswer: true, answers: first.id })
  }

  function submit(outgoing: Outgoing): void {
    const { text, isAnswer } = outgoing
    const first = isAnswer ? conversation.asks[0] : undefined
    if (first?.kind === 'question' && !text.startsWith('/')) {
      dispatch({ type: 'settled', id: first.id })
      attempt(partner.builds.answer(first.id, text))
      return
    }
    if (first?.kind === 'confirm') {
      const word = readSpokenAnswer(text)
      answerAsk(first, word ?? 'deny')
      if (word) return
    }
    if (text.startsWith('//')) say({ ...outgoing, text: text.slice(1), shown: outgoing.shown.slice(1) })
    else if (text.startsWith('/')) attempt(command(text))
    else say(outgoing)
  }

  async function open(): Promise<void> {
    for (const { role, text } of await partner.past()) dispatch({ type: 'past', role, text })
    void partner.follow(hear, signal)
    await Promise.all([refreshFacts(), asks.refresh()])
    lookForBuilds()
  }
  attempt(open())

  return {
    conversation: () => conversation,
    facts: () => facts,
    submit,
    dispatch,
    answer(word: 'approve' | 'deny'): void {
      const [first] = conversation.asks
      if (first) answerAsk(first, word)
    },
    choose,
    giveSecret(value: string): void {
      const [first] = conversation.asks
      if (first?.kind !== 'secret') return
      dispatch({ type: 'settled', id: first.id })
      attempt(partner.builds.giveSecret(first.id, value))
    },
    /** Removes the first question, unanswered. */
    putOff(): void {
      const [first] = conversation.asks
      if (!first) return
      asks.forget(first.id)
      dispatch({ type: 'settled', id: first.id })
    },
    stop: () => attempt(partner.stop()),
  }
}

/** Keeps the questions on the screen equal to those that wait: another client may have answered. */
function createAskSync(options: {
  partner: Pick<TuiPartner, 'approvals'>
  dispatch(change: Change): void
  asks(): readonly Ask[]
}) {
  const { partner, dispatch, asks } = options
  /** Questions that the user dismissed stay hidden. */
  const forgotten = new Set<string>()
  let refreshing: Promise<void> | undefined

  async function refresh(): Promise<void> {
    const waiting = await partner.approvals()
    for (const ask of asks()) {
      if (ask.kind === 'approval' && !waiting.some(({ id }) => id === ask.id)) dispatch({ type: 'settled', id: ask.id })
    }
    for (const approval of waiting) {
      if (!forgotten.has(approval.id)) dispatch({ type: 'asked', ask: toAsk(approval) })
    }
  }

  return {
    /** One after the other: an older answer must not bring back what a newer one took away. */
    refresh(): Promise<void> {
      const next = (refreshing ?? Promise.resolve()).catch(() => undefined).then(refresh)
      refreshing = next
      return next
    },
    forget: (id: string) => void forgotten.add(id),
  }
}

function toAsk({ id, tool, sentence, details, reason, scopes, covers, language }: ApprovalReply): Ask {
  const shown = details.map(({ name, value }) => ({ name: withCodes(name), value: withCodes(value) }))
  const texts = { tool: withCodes(tool), sentence: withCodes(sentence), covers: withCodes(covers) }
  return { kind: 'approval', id, ...texts, details: shown, reason, scopes, ...(language && { language }) }
}

/** Finds running builds and follows each one to its end. */
function followBuilds(options: {
  partner: Pick<TuiPartner, 'builds'>
  dispatch(change: Change): void
  signal: AbortSignal
}): () => void {
  const { partner, dispatch, signal } = options
  /** The last event of each build, so that a lost connection repeats nothing. */
  const seen = new Map<string, number>()
  const followed = new Set<string>()

  async function follow(id: string, name: string): Promise<void> {
    followed.add(id)
    try {
      for await (const event of partner.builds.follow(id, signal)) {
        if (event.seq <= (seen.get(id) ?? 0)) continue
        seen.set(id, event.seq)
        dispatch({ type: 'build', name, event })
        if (event.type === 'question' || event.type === 'secret_request') await settleIfOver(event.question_id)
      }
    } finally {
      followed.delete(id)
    }
  }

  /** Most questions of a build were answered before this terminal opened. */
  async function settleIfOver(questionId: string): Promise<void> {
    const waiting = await partner.builds.questions()
    if (!waiting.some(({ id }) => id === questionId)) dispatch({ type: 'settled', id: questionId })
  }

  async function look(): Promise<void> {
    for (const { id, name } of await partner.builds.running()) {
      // After a lost connection, the next look follows it again.
      if (!followed.has(id)) void follow(id, name).catch(() => undefined)
    }
  }
  return () => void look().catch(() => undefined)
}
