import { choicesIn } from '../../protocol/choices.ts'
import type { BuildEvent } from '../../protocol/custom-tools.ts'
import type { TurnEvent } from '../../protocol/events.ts'
import type { Json } from '../../protocol/messages.ts'
import { outcomeLine } from '../../security/approval-texts.ts'
import { isAutomated } from '../../security/approvals.ts'
import { answerOf } from '../commands/builds.ts'
import {
  type Ask,
  type BuildItem,
  type CallItem,
  type Change,
  displayable,
  type Pending,
  type TerminalConversation,
  type TerminalItem,
  type Tone,
  withItems,
} from './conversation.ts'
import { describeRecall } from './plain-chat.ts'

/** The conversation after something happened. Pure; the one door for whatever is shown, so all of it is made harmless. */
export function foldConversation(conversation: TerminalConversation, change: Change): TerminalConversation {
  if (change.type === 'picture') return withItems(conversation, { kind: 'picture', draw: change.draw })
  return fold(conversation, displayable(change))
}

function fold(conversation: TerminalConversation, change: Exclude<Change, { type: 'picture' }>): TerminalConversation {
  switch (change.type) {
    case 'event':
      return foldTurnEvent(conversation, change.event, change.at)
    case 'build':
      return foldBuildEvent(conversation, change.name, change.event)
    case 'said': {
      const { key, shown } = change
      return { ...conversation, pending: [...conversation.pending, { key, shown, messageId: undefined }] }
    }
    case 'accepted':
      return accept(conversation, change.key, change.messageId)
    case 'refused': {
      const pending = conversation.pending.filter(({ key }) => key !== change.key)
      return note({ ...conversation, pending }, 'bad', change.reason)
    }
    case 'past':
      return withItems(
        conversation,
        change.role === 'user'
          ? { kind: 'user', text: change.text, from: undefined, messageId: undefined }
          : { kind: 'answer', text: change.text, isOpen: false },
      )
    case 'note':
      return note(conversation, change.tone, change.text)
    case 'asked': {
      const isKnown = conversation.asks.some(({ id }) => id === change.ask.id)
      return isKnown ? conversation : { ...conversation, asks: [...conversation.asks, change.ask] }
    }
    case 'settled':
      return { ...conversation, asks: conversation.asks.filter(({ id }) => id !== change.id) }
    case 'cost_known':
      return { ...conversation, costSinceUsd: 0 }
    case 'lost':
      return { ...conversation, isConnected: false }
    case 'back': {
      const items = conversation.items.filter((item) => !isOpen(item))
      return note({ ...conversation, items, isConnected: true }, 'quiet', change.text)
    }
    default:
      change satisfies never
      return conversation
  }
}

/** The receipt may come before the message shows in the stream, or after it. */
function accept(conversation: TerminalConversation, key: string, messageId: string): TerminalConversation {
  const said = conversation.pending.find((pending) => pending.key === key)
  if (!said) return conversation
  const shownAs = new Map(conversation.shownAs).set(messageId, said.shown)
  const place = conversation.items.findIndex((item) => item.kind === 'user' && item.messageId === messageId)
  if (place < 0) {
    const pending = conversation.pending.map((one): Pending => (one === said ? { ...one, messageId } : one))
    return { ...conversation, shownAs, pending }
  }
  const pending = conversation.pending.filter((one) => one !== said)
  const items = conversation.items.with(place, { kind: 'user', text: said.shown, from: undefined, messageId })
  return { ...conversation, shownAs, pending, items }
}

/** Applies one event of a build: its lines in one place, its questions at the input. */
function foldBuildEvent(conversation: TerminalConversation, name: string, event: BuildEvent): TerminalConversation {
  const place = conversation.items.findLastIndex((item) => item.kind === 'build' && item.buildId === event.build_id)
  const found = conversation.items[place]
  const build: BuildItem =
    found?.kind === 'build' ? found : { kind: 'build', buildId: event.build_id, name, state: 'running', lines: [] }
  const changed = { ...build, state: stateAfter(event), lines: [...build.lines, lineOf(event)] }
  const shown =
    place < 0 ? withItems(conversation, changed) : { ...conversation, items: conversation.items.with(place, changed) }
  return { ...shown, asks: asksAfter(shown.asks, name, event) }
}

function stateAfter({ type }: BuildEvent): BuildItem['state'] {
  if (type === 'complete') return 'complete'
  return type === 'error' ? 'failed' : 'running'
}

function lineOf(event: BuildEvent): { tone: Tone; text: string } {
  switch (event.type) {
    case 'progress':
      return { tone: 'quiet', text: event.message }
    case 'question':
    case 'secret_request':
      return { tone: 'warning', text: event.question }
    case 'answer':
      return { tone: 'quiet', text: answerOf(event) }
    case 'complete':
      return { tone: 'plain', text: event.message }
    case 'error':
      return { tone: 'bad', text: event.message }
  }
}

function asksAfter(asks: readonly Ask[], name: string, event: BuildEvent): readonly Ask[] {
  switch (event.type) {
    case 'question':
    case 'secret_request': {
      if (asks.some(({ id }) => id === event.question_id)) return asks
      const common = { id: event.question_id, name, text: event.question }
      const ask: Ask =
        event.type === 'question'
          ? { kind: 'question', ...common, choices: choicesIn(event) }
          : { kind: 'secret', ...common, secret: event.secret }
      return [...asks, ask]
    }
    case 'answer':
      return asks.filter(({ id }) => id !== event.question_id)
    default:
      return asks
  }
}

function foldTurnEvent(before: TerminalConversation, event: TurnEvent, at: number): TerminalConversation {
  const conversation = joinTurn(before, event, at)
  switch (event.type) {
    case 'message':
      return takeUp(conversation, event)
    case 'turn_start':
      return {
        ...settleChoice(withOutcomes(conversation, event), event.answers?.id),
        model: event.model,
        turn: { id: event.turnId, startedAt: at, waitsUntil: undefined },
      }
    case 'text_delta':
      return speak(conversation, event.text, at)
    case 'thinking_delta':
      return think(conversation, event.text, at)
    case 'cost': {
      const closed = closeOpen(conversation, at)
      const cost = closed.costSinceUsd + (event.costUsd ?? 0)
      return {
        ...closed,
        model: event.model,
        contextTokens: event.usage.inputTokens,
        costSinceUsd: cost,
        ...(event.usage.isEstimate && { isEstimate: true }),
      }
    }
    case 'retry': {
      // The next response repeats the text of the failed one.
      const items = conversation.items.filter((item) => !isOpen(item))
      if (event.isQuiet) return { ...conversation, items }
      const turn = conversation.turn && { ...conversation.turn, waitsUntil: at + event.waitMs }
      const pause = event.waitMs > 0 ? ` in ${Math.ceil(event.waitMs / 1_000)} s` : ''
      return note({ ...conversation, items, turn }, 'warning', `${event.reason}; trying again${pause}`)
    }
    case 'tool_start':
      return withItems(closeOpen(conversation, at), callOf(event, event.input, at))
    case 'tool_progress':
      return changeCall(conversation, event.callId, (call) => ({ ...call, progress: describeProgress(event.data) }))
    case 'tool_result':
      return endCall(conversation, event, at)
    case 'card':
      return withItems(conversation, { kind: 'card', title: event.card.title, text: event.card.text })
    case 'media':
      if (event.media.length === 0) return conversation
      return note(conversation, 'quiet', event.media.map(({ path, name }) => path ?? name).join(', '))
    case 'said':
      return withItems(conversation, { kind: 'answer', text: event.text, isOpen: false })
    case 'reaction':
      return note(conversation, 'plain', event.emoji)
    case 'memory_recalled':
      return note(conversation, 'quiet', describeRecall(event))
    case 'response':
      return askChoice(finish(closeOpen(conversation, at), event), event)
    case 'turn_end':
      return conversation.turn?.id === event.turnId ? { ...conversation, turn: undefined } : conversation
    case 'context_warning':
      return note(conversation, 'warning', `the context is filling: ${event.inputTokens} of ${event.thresholdTokens}`)
    case 'compaction':
      return note(conversation, 'quiet', `the oldest ${event.messages} messages are now a summary`)
    case 'session_changed':
      return note(conversation, 'quiet', changes[event.change])
    case 'approval_request':
      return {
        ...changeCall(conversation, event.callId, (call) => ({ ...call, waits: true })),
        language: event.approval?.language,
      }
    case 'tool_calls':
      return conversation
    default:
      // A newer Familiar may send events that this terminal does not know.
      event satisfies never
      return conversation
  }
}

/** Only the newest question can be answered. */
function askChoice(conversation: TerminalConversation, { pendingChoices: choices, deliver }: Of<'response'>) {
  if (!choices || !deliver) return conversation
  const others = conversation.asks.filter(({ kind }) => kind !== 'choice')
  return { ...conversation, asks: [...others, { kind: 'choice', id: choices.id, choices } as const] }
}

/** The approvals that were answered in words. */
function withOutcomes(conversation: TerminalConversation, { approvals = [] }: Of<'turn_start'>): TerminalConversation {
  return approvals.reduce((all, outcome) => note(all, 'quiet', outcomeLine(outcome, all.language)), conversation)
}

function settleChoice(conversation: TerminalConversation, id: string | undefined): TerminalConversation {
  if (id === undefined) return conversation
  return { ...conversation, asks: conversation.asks.filter((ask) => ask.id !== id) }
}

const changes = {
  branched: 'another branch',
  marked: 'mark set',
  rewound: 'the conversation was rewound',
  forked: 'this conversation is a copy of another one',
  reset: 'this conversation was archived; the next message starts a new one',
  canceled: 'a queued message was canceled',
}

type Of<Type extends TurnEvent['type']> = Extract<TurnEvent, { type: Type }>

function note(conversation: TerminalConversation, tone: Tone, text: string): TerminalConversation {
  return withItems(conversation, { kind: 'note', tone, text })
}

/** A terminal that joins in the middle of a turn has not seen its start. */
function joinTurn(conversation: TerminalConversation, event: TurnEvent, at: number): TerminalConversation {
  if (conversation.turn || !('turnId' in event) || event.type === 'turn_end' || event.type === 'response') {
    return conversation
  }
  return { ...conversation, turn: { id: event.turnId, startedAt: at, waitsUntil: undefined } }
}

function takeUp(conversation: TerminalConversation, event: Of<'message'>): TerminalConversation {
  const { messageId, text, source, approval } = event
  // The text of such a message is for the model.
  if (approval) return note(conversation, 'quiet', outcomeLine(approval, conversation.language))
  if (isAutomated(source)) return note(conversation, 'quiet', text)
  const pending = conversation.pending.filter((said) => said.messageId !== messageId)
  const shown = conversation.shownAs.get(messageId)
  // Of this very terminal or another one on the command line: who typed it sees that.
  const from = shown !== undefined || source === 'cli' ? undefined : source
  return withItems({ ...conversation, pending }, { kind: 'user', text: shown ?? text, from, messageId })
}

function speak(conversation: TerminalConversation, text: string, at: number): TerminalConversation {
  const { items } = conversation
  const last = items.at(-1)
  if (last?.kind === 'answer' && last.isOpen) return replaceLast(conversation, { ...last, text: last.text + text })
  const before = closeThinking(conversation, at)
  // A model likes to begin with an empty line.
  const visible = text.trimStart()
  return visible === '' ? before : withItems(before, { kind: 'answer', text: visible, isOpen: true })
}

function think(conversation: TerminalConversation, text: string, at: number): TerminalConversation {
  const last = conversation.items.at(-1)
  if (last?.kind === 'thinking' && last.isOpen) return replaceLast(conversation, { ...last, text: last.text + text })
  if (text.trim() === '') return conversation
  return withItems(conversation, { kind: 'thinking', text, isOpen: true, startedAt: at, tookMs: undefined })
}

/** The response is in the log now: it does not come again. */
function closeOpen(conversation: TerminalConversation, at: number): TerminalConversation {
  const { items } = closeThinking(conversation, at)
  if (!items.some(isOpen)) return conversation
  return { ...conversation, items: items.map((item) => (isOpen(item) ? { ...item, isOpen: false } : item)) }
}

function isOpen(item: TerminalItem): item is Extract<TerminalItem, { isOpen: boolean }> {
  return 'isOpen' in item && item.isOpen
}

/** Thinking is over when the model speaks, though its response is still open. */
function closeThinking(conversation: TerminalConversation, at: number): TerminalConversation {
  const items = conversation.items.map((item) =>
    item.kind === 'thinking' && item.tookMs === undefined
      ? { ...item, tookMs: Math.max(0, at - item.startedAt) }
      : item,
  )
  return { ...conversation, items }
}

/** The text of the turn, which most often has been seen as it came. A silent one is taken away again. */
function finish(
  conversation: TerminalConversation,
  { text, deliver, pendingQuestion }: Of<'response'>,
): TerminalConversation {
  const place = conversation.items.findLastIndex((item) => item.kind === 'answer')
  const turnBegan = conversation.items.findLastIndex((item) => item.kind === 'user')
  const seen = place > turnBegan ? conversation.items[place] : undefined
  const said = seen?.kind === 'answer' ? seen.text.trim() : ''
  const whole = text.trim()
  if (!deliver) {
    return said !== '' && said === whole
      ? { ...conversation, items: conversation.items.toSpliced(place, 1) }
      : conversation
  }
  if (whole === '' || said.endsWith(whole)) return conversation
  // A call that waits for approval is asked at the input, with its details.
  const isAsked = conversation.items.slice(turnBegan + 1).some((item) => item.kind === 'call' && item.waits)
  if (isAsked && whole === pendingQuestion?.trim()) return conversation
  const answer: TerminalItem = { kind: 'answer', text: whole, isOpen: false }
  if (said !== '' && whole.startsWith(said)) return { ...conversation, items: conversation.items.with(place, answer) }
  return withItems(conversation, answer)
}

function callOf({ callId, name }: { callId: string; name: string }, input: Json, at: number): CallItem {
  return { kind: 'call', callId, name, input, startedAt: at, progress: undefined, outcome: undefined, waits: false }
}

/** A call that was denied or waits for approval ends without a start event. */
function endCall(conversation: TerminalConversation, event: Of<'tool_result'>, at: number): TerminalConversation {
  const { callId, result, isError } = event
  const isKnown = conversation.items.some((item) => item.kind === 'call' && item.callId === callId && !item.outcome)
  const begun = isKnown ? conversation : withItems(closeOpen(conversation, at), callOf(event, null, at))
  return changeCall(begun, callId, (call) => ({
    ...call,
    outcome: { result, isError, tookMs: Math.max(0, at - call.startedAt) },
  }))
}

function changeCall(
  conversation: TerminalConversation,
  callId: string,
  change: (call: CallItem) => CallItem,
): TerminalConversation {
  const place = conversation.items.findLastIndex((item) => item.kind === 'call' && item.callId === callId)
  const call = conversation.items[place]
  if (call?.kind !== 'call') return conversation
  return { ...conversation, items: conversation.items.with(place, change(call)) }
}

function replaceLast(conversation: TerminalConversation, item: TerminalItem): TerminalConversation {
  return { ...conversation, items: conversation.items.with(-1, item) }
}

/** The text of a progress report, or the numbers that most tools send. */
function describeProgress(data: Json): string {
  if (typeof data === 'string') return data
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return String(data)
  const { message, text, done, total } = data
  const words = [message, text].find((value) => typeof value === 'string')
  if (typeof words === 'string') return words
  if (typeof done === 'number' && typeof total === 'number') return `${done} of ${total}`
  return JSON.stringify(data)
}
