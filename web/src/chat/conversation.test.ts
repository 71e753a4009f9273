import { describe, expect, it } from 'vitest'
import type { StreamedEvent, TurnEvent } from '../../../src/protocol/events.ts'
import { addEvent, emptyConversation, isWorking, type TurnItem } from './conversation.ts'

const turnId = 't1'
const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0 }

function streamed(events: TurnEvent[]): StreamedEvent[] {
  return events.map((event, index) => ({ cursor: String(index + 1), event }))
}

const conversationOf = (...events: TurnEvent[]) => streamed(events).reduce(addEvent, emptyConversation)

function turnOf(...events: TurnEvent[]): TurnItem {
  const turn = conversationOf(...events).items.find((item) => item.kind === 'turn')
  if (turn?.kind !== 'turn') throw new Error('there is no turn')
  return turn
}

const response = (text: string): TurnEvent => ({
  type: 'response',
  turnId,
  text,
  buildId: null,
  pendingQuestion: null,
  toolCalls: [],
  deliver: true,
})
const delta = (text: string): TurnEvent => ({ type: 'text_delta', turnId, text })
const start: TurnEvent = { type: 'turn_start', turnId, model: 'fake/main' }
const toolStart: TurnEvent = { type: 'tool_start', turnId, callId: 'c1', name: 'look', input: { at: 'x' } }
const toolResult: TurnEvent = {
  type: 'tool_result',
  turnId,
  callId: 'c1',
  name: 'look',
  result: 'seen',
  isError: false,
}

describe('a conversation out of its events', () => {
  it('PAGE-2 a reply that streamed is there once', () => {
    const { parts, outcome } = turnOf(start, delta('Hel'), delta('lo.'), response('Hello.'), {
      type: 'turn_end',
      turnId,
      outcome: 'completed',
    })
    expect(parts).toEqual([{ kind: 'text', text: 'Hello.' }])
    expect(outcome).toBe('completed')
  })

  it('PAGE-2 a reply without its stream is shown, and replaces a shorter stream', () => {
    expect(turnOf(start, response('Hello.')).parts).toEqual([{ kind: 'text', text: 'Hello.' }])
    expect(turnOf(start, delta('Hel'), response('Hello.')).parts).toEqual([{ kind: 'text', text: 'Hello.' }])
  })

  it('PAGE-2 text before and after a tool keeps its order', () => {
    const { parts } = turnOf(start, delta('I look.'), toolStart, toolResult, delta('Seen.'), response('Seen.'))
    expect(parts.map(({ kind }) => kind)).toEqual(['text', 'tool', 'text'])
    expect(parts[1]).toMatchObject({ result: { text: 'seen', isError: false } })
  })

  it('PAGE-2 a response that failed half way is replaced by the next one', () => {
    const retry: TurnEvent = { type: 'retry', turnId, attempt: 1, reason: 'It broke', waitMs: 1_000 }
    const before = turnOf(start, toolStart, toolResult, delta('The wrong'), retry)
    expect(before.parts.map(({ kind }) => kind)).toEqual(['tool', 'retry'])
    const after = turnOf(start, toolStart, toolResult, delta('The wrong'), retry, delta('Right.'), response('Right.'))
    expect(after.parts.slice(1)).toEqual([{ kind: 'text', text: 'Right.' }])
  })

  it('PAGE-2 progress, cards, files and approvals belong to their call', () => {
    const card = { title: 'T', html: '', text: 'T', accentColor: null, backgroundColor: null, icon: null }
    const { parts } = turnOf(
      start,
      toolStart,
      { type: 'tool_progress', turnId, callId: 'c1', name: 'look', data: 'half' },
      { type: 'card', turnId, callId: 'c1', name: 'look', card },
      { type: 'approval_request', turnId, callId: 'c1', approvalId: 'a1', question: 'May I?' },
      { type: 'tool_progress', turnId, callId: 'unknown', name: 'look', data: 'lost' },
    )
    expect(parts).toEqual([
      expect.objectContaining({ progress: ['half'], card, approval: { id: 'a1', question: 'May I?' } }),
    ])
  })

  it('SEC-16 a call that waits for approval is shown, though it never started, and asks once', () => {
    const question = 'May I call send?'
    const { parts } = turnOf(
      start,
      { type: 'tool_result', turnId, callId: 'c2', name: 'send', result: 'The user is asked.', isError: true },
      { type: 'approval_request', turnId, callId: 'c2', approvalId: 'a1', question },
      response(question),
    )
    expect(parts).toEqual([expect.objectContaining({ kind: 'tool', name: 'send', approval: { id: 'a1', question } })])
  })

  it('an unknown price makes the sum unknown, not zero', () => {
    const cost = (costUsd: number | null): TurnEvent => ({ type: 'cost', turnId, model: 'm', usage, costUsd })
    expect(turnOf(start, cost(0.1), cost(0.2)).costUsd).toBeCloseTo(0.3)
    expect(turnOf(start, cost(0.1), cost(null), cost(0.2)).costUsd).toBeNull()
  })

  it('PAGE-5 unchanged items stay the same object', () => {
    const said: TurnEvent = { type: 'message', messageId: 'm1', text: 'Hi', sender: '', source: 'web' }
    const before = conversationOf(said, start, delta('a'))
    const after = addEvent(before, { cursor: '9', event: delta('b') })
    expect(after.items[0]).toBe(before.items[0])
    expect(after.items[1]).not.toBe(before.items[1])
  })

  it('LOOP-8 says once that a turn was stopped', () => {
    const stopped: TurnEvent = { type: 'turn_end', turnId, outcome: 'stopped' }
    const text = (...events: TurnEvent[]) => turnOf(start, ...events, stopped).parts
    expect(text(delta('Half of'), response('Half of\n\n[Stopped.]'))).toEqual([{ kind: 'text', text: 'Half of' }])
    expect(text(response('Stopped.'))).toEqual([])
    // Only the mark of Familiar itself, and only where the turn was stopped.
    const whole = 'They wrote\n\n[Stopped.]'
    const ended: TurnEvent = { type: 'turn_end', turnId, outcome: 'completed' }
    expect(turnOf(start, delta(whole), response(whole), ended).parts).toEqual([{ kind: 'text', text: whole }])
  })

  it('LOOP-8 knows which messages were canceled before their turn', () => {
    const canceled: TurnEvent = { type: 'session_changed', change: 'canceled', detail: 'm2' }
    const conversation = conversationOf(start, canceled, delta('a'))
    expect(conversation.canceled).toEqual(['m2'])
    expect(conversation.items).toHaveLength(1)
  })

  it('is working from the start of a turn to its end', () => {
    expect(isWorking(conversationOf(start))).toBe(true)
    expect(isWorking(conversationOf(start, { type: 'turn_end', turnId, outcome: 'stopped' }))).toBe(false)
    expect(isWorking(emptyConversation)).toBe(false)
  })
})
