import { isAutomated } from '../../../policy/own-words.ts'
import type { TurnEvent } from '../../../protocol/event.ts'
import type { Json } from '../../../protocol/json.ts'
import { type CallItem, type Conversation, type Item, withItems } from './conversation.ts'

/** What one event of the session's stream makes of the conversation. */
export function foldTurnEvent(before: Conversation, event: TurnEvent, at: number): Conversation {
  const conversation = joinTurn(before, event, at)
  switch (event.type) {
    case 'message':
      return takeUp(conversation, event)
    case 'turn_start':
      return {
        ...conversation,
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
      return { ...closed, model: event.model, contextTokens: event.usage.inputTokens, costSinceUsd: cost }
    }
    case 'retry': {
      // What came of the response that failed is told again by the next one.
      const items = conversation.items.filter((item) => !('isOpen' in item && item.isOpen))
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
      return note(conversation, 'quiet', event.media.map(({ name }) => name).join(', '))
    case 'said':
      return withItems(conversation, { kind: 'answer', text: event.text, isOpen: false })
    case 'reaction':
      return note(conversation, 'plain', event.emoji)
    case 'memory_recalled':
      return note(conversation, 'quiet', recalled(event.memories.length))
    case 'response':
      return finish(closeOpen(conversation, at), event)
    case 'turn_end':
      return endTurn(conversation, event.turnId)
    case 'context_warning':
      return note(conversation, 'warning', `the context is filling: ${event.inputTokens} of ${event.thresholdTokens}`)
    case 'compaction':
      return note(conversation, 'quiet', `the oldest ${event.messages} messages are now a summary`)
    case 'session_changed':
      return note(conversation, 'quiet', changes[event.change])
    case 'approval_request':
      return changeCall(conversation, event.callId, (call) => ({ ...call, waits: true }))
    case 'tool_calls':
      return conversation
    default:
      // A newer Familiar may tell of what this terminal does not know.
      event satisfies never
      return conversation
  }
}

const changes = {
  marked: 'this place is marked',
  rewound: 'the conversation was taken back',
  forked: 'this conversation goes on from another one',
  reset: 'this conversation was archived; the next message begins a new one',
}

type Of<Type extends TurnEvent['type']> = Extract<TurnEvent, { type: Type }>

function note(conversation: Conversation, tone: 'plain' | 'quiet' | 'warning', text: string): Conversation {
  return withItems(conversation, { kind: 'note', tone, text })
}

function recalled(count: number): string {
  return count === 1 ? 'recalled a memory' : `recalled ${count} memories`
}

/** Whoever comes into the middle of a turn sees no beginning of it. */
function joinTurn(conversation: Conversation, event: TurnEvent, at: number): Conversation {
  if (conversation.turn || !('turnId' in event) || event.type === 'turn_end' || event.type === 'response') {
    return conversation
  }
  return { ...conversation, turn: { id: event.turnId, startedAt: at, waitsUntil: undefined } }
}

function takeUp(conversation: Conversation, { messageId, text, source }: Of<'message'>): Conversation {
  if (isAutomated(source)) return note(conversation, 'quiet', text)
  const pending = conversation.pending.filter((said) => said.messageId !== messageId)
  const shown = conversation.shownAs.get(messageId)
  // Of this very terminal or another one on the command line: who typed it sees that.
  const from = shown !== undefined || source === 'cli' ? undefined : source
  return withItems({ ...conversation, pending }, { kind: 'user', text: shown ?? text, from, messageId })
}

function speak(conversation: Conversation, text: string, at: number): Conversation {
  const { items } = conversation
  const last = items.at(-1)
  if (last?.kind === 'answer' && last.isOpen) return replaceLast(conversation, { ...last, text: last.text + text })
  const before = closeThinking(conversation, at)
  // A model likes to begin with an empty line.
  const visible = text.trimStart()
  return visible === '' ? before : withItems(before, { kind: 'answer', text: visible, isOpen: true })
}

function think(conversation: Conversation, text: string, at: number): Conversation {
  const last = conversation.items.at(-1)
  if (last?.kind === 'thinking' && last.isOpen) return replaceLast(conversation, { ...last, text: last.text + text })
  if (text.trim() === '') return conversation
  return withItems(conversation, { kind: 'thinking', text, isOpen: true, startedAt: at, tookMs: undefined })
}

/** The response is in the log now: it does not come again. */
function closeOpen(conversation: Conversation, at: number): Conversation {
  const { items } = closeThinking(conversation, at)
  if (!items.some((item) => 'isOpen' in item && item.isOpen)) return conversation
  return {
    ...conversation,
    items: items.map((item) => ('isOpen' in item && item.isOpen ? { ...item, isOpen: false } : item)),
  }
}

/** Thinking is over when the model speaks, though its response is still open. */
function closeThinking(conversation: Conversation, at: number): Conversation {
  const items = conversation.items.map((item) =>
    item.kind === 'thinking' && item.tookMs === undefined
      ? { ...item, tookMs: Math.max(0, at - item.startedAt) }
      : item,
  )
  return { ...conversation, items }
}

/** The text of the turn, which most often has been seen as it came. A silent one is taken away again. */
function finish(conversation: Conversation, { text, deliver, pendingQuestion }: Of<'response'>): Conversation {
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
  // What waits for the user's word is asked where they type, with all that belongs to it.
  const isAsked = conversation.items.slice(turnBegan + 1).some((item) => item.kind === 'call' && item.waits)
  if (isAsked && whole === pendingQuestion?.trim()) return conversation
  const answer: Item = { kind: 'answer', text: whole, isOpen: false }
  if (said !== '' && whole.startsWith(said)) return { ...conversation, items: conversation.items.with(place, answer) }
  return withItems(conversation, answer)
}

function endTurn(conversation: Conversation, turnId: string): Conversation {
  if (conversation.turn && conversation.turn.id !== turnId) return conversation
  return { ...conversation, turn: undefined }
}

function callOf({ callId, name }: { callId: string; name: string }, input: Json, at: number): CallItem {
  return { kind: 'call', callId, name, input, startedAt: at, progress: undefined, outcome: undefined, waits: false }
}

/** A call that was refused, or that waits for the user's word, ends without having begun. */
function endCall(conversation: Conversation, event: Of<'tool_result'>, at: number): Conversation {
  const { callId, result, isError } = event
  const isKnown = conversation.items.some((item) => item.kind === 'call' && item.callId === callId && !item.outcome)
  const begun = isKnown ? conversation : withItems(closeOpen(conversation, at), callOf(event, null, at))
  return changeCall(begun, callId, (call) => ({
    ...call,
    outcome: { result, isError, tookMs: Math.max(0, at - call.startedAt) },
  }))
}

function changeCall(conversation: Conversation, callId: string, change: (call: CallItem) => CallItem): Conversation {
  const place = conversation.items.findLastIndex((item) => item.kind === 'call' && item.callId === callId)
  const call = conversation.items[place]
  if (call?.kind !== 'call') return conversation
  return { ...conversation, items: conversation.items.with(place, change(call)) }
}

function replaceLast(conversation: Conversation, item: Item): Conversation {
  return { ...conversation, items: conversation.items.with(-1, item) }
}

/** The words of a progress report, or the numbers that most tools tell. */
function describeProgress(data: Json): string {
  if (typeof data === 'string') return data
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return String(data)
  const { message, text, done, total } = data
  const words = [message, text].find((value) => typeof value === 'string')
  if (typeof words === 'string') return words
  if (typeof done === 'number' && typeof total === 'number') return `${done} of ${total}`
  return JSON.stringify(data)
}
