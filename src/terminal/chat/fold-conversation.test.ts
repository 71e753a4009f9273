import { describe, expect, it } from 'vitest'
import type { BuildEvent } from '../../protocol/custom-tools.ts'
import type { TurnEvent } from '../../protocol/events.ts'
import { type Change, emptyTerminalConversation, type TerminalConversation } from './conversation.ts'
import { foldConversation } from './fold-conversation.ts'

const turnId = 't1'
const usage = { inputTokens: 1_200, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0 }
const cost: TurnEvent = { type: 'cost', turnId, model: 'm', usage, costUsd: 0.01 }

/** The conversation after these, each a second after the one before. */
function conversationAfter(...changes: (TurnEvent | Change)[]): TerminalConversation {
  return changes.reduce<TerminalConversation>(
    (conversation, change, second) =>
      foldConversation(conversation, isChange(change) ? change : { type: 'event', event: change, at: second * 1_000 }),
    emptyTerminalConversation,
  )
}

const ownTypes = new Set(['accepted', 'refused', 'past', 'note', 'build', 'asked', 'settled', 'lost', 'back'])

function isChange(change: TurnEvent | Change): change is Change {
  return ownTypes.has(change.type) || (change.type === 'said' && 'key' in change)
}

function response(text: string, deliver = true): TurnEvent {
  return { type: 'response', turnId, text, buildId: null, pendingQuestion: null, toolCalls: [], deliver }
}

const message = (messageId: string, text: string, source = 'cli'): TurnEvent => {
  return { type: 'message', messageId, text, sender: 'owner', source }
}
const start: TurnEvent = { type: 'turn_start', turnId, model: 'm' }
const say = (text: string): TurnEvent => ({ type: 'text_delta', turnId, text })
const texts = ({ items }: TerminalConversation) => items.map((item) => ('text' in item ? item.text : item.kind))

describe('a turn', () => {
  it('CHAN-2 shows text as it streams, thinking separately, tools with their time and outcome', () => {
    const conversation = conversationAfter(
      message('1', 'hello'),
      start,
      { type: 'thinking_delta', turnId, text: 'Hm, ' },
      { type: 'thinking_delta', turnId, text: 'well.' },
      say('\n\nLet me '),
      say('look.'),
      cost,
      { type: 'tool_start', turnId, callId: 'c', name: 'read', input: { path: 'a.md' } },
      { type: 'tool_progress', turnId, callId: 'c', name: 'read', data: { done: 1, total: 2 } },
      { type: 'tool_result', turnId, callId: 'c', name: 'read', result: 'A', isError: false },
      say('It says A.'),
      cost,
      response('It says A.'),
      { type: 'turn_end', turnId, outcome: 'completed' },
    )
    expect(conversation.items).toEqual([
      { kind: 'user', text: 'hello', from: undefined, messageId: '1' },
      { kind: 'thinking', text: 'Hm, well.', isOpen: false, startedAt: 2_000, tookMs: 2_000 },
      { kind: 'answer', text: 'Let me look.', isOpen: false },
      expect.objectContaining({
        kind: 'call',
        name: 'read',
        progress: '1 of 2',
        outcome: { result: 'A', isError: false, tookMs: 2_000 },
      }),
      { kind: 'answer', text: 'It says A.', isOpen: false },
    ])
    expect(conversation).toMatchObject({ turn: undefined, model: 'm', contextTokens: 1_200, costSinceUsd: 0.02 })
  })

  it('CHAN-2 shows a text that never streamed, completes one that was cut, and takes a silent one away', () => {
    expect(texts(conversationAfter(start, response('Whole.')))).toEqual(['Whole.'])
    expect(texts(conversationAfter(start, say('Half a'), response('Half a word.')))).toEqual(['Half a word.'])
    expect(texts(conversationAfter(start, say('NO_REPLY'), cost, response('NO_REPLY', false)))).toEqual([])
  })

  it('CHAN-2 repeats nothing when a response is tried again or the line comes back', () => {
    const retry: TurnEvent = { type: 'retry', turnId, attempt: 1, reason: 'overloaded', waitMs: 2_000 }
    const again = conversationAfter(start, say('Half'), retry, say('Whole.'), cost, response('Whole.'))
    expect(texts(again)).toEqual(['overloaded; trying again in 2 s', 'Whole.'])
    const lost: Change[] = [{ type: 'lost' }, { type: 'back', text: 'connected again' }]
    const back = conversationAfter(start, say('First.'), cost, say('Hal'), ...lost, say('Half.'), cost)
    expect(texts(back)).toEqual(['First.', 'connected again', 'Half.'])
    expect(conversationAfter(start, { type: 'lost' }).isConnected).toBe(false)
  })

  it('CHAN-2 shows a call that never started, and one that waits for the user', () => {
    const refused = conversationAfter(start, {
      type: 'tool_result',
      turnId,
      callId: 'c',
      name: 'send',
      result: 'No',
      isError: true,
    })
    expect(refused.items).toMatchObject([{ kind: 'call', name: 'send', outcome: { result: 'No' }, waits: false }])
    const request: TurnEvent = { type: 'approval_request', turnId, callId: 'c', approvalId: 'a', question: 'May I?' }
    const waiting = foldConversation(refused, { type: 'event', event: request, at: 9 })
    expect(waiting.items).toMatchObject([{ kind: 'call', waits: true }])
  })

  it('CHAN-2 is joined in the middle', () => {
    expect(conversationAfter(say('…and so on')).turn).toMatchObject({ id: turnId })
  })
})

describe('messages sent at this terminal', () => {
  const said: Change = { type: 'said', key: 'k', shown: 'read [pasted 5,000 lines]' }
  const accepted: Change = { type: 'accepted', key: 'k', messageId: '7' }
  const taken = message('7', 'read and five thousand lines')

  it('CHAN-2 is shown once and as it was typed, whether the receipt or the event comes first', () => {
    expect(conversationAfter(said).pending).toHaveLength(1)
    for (const order of [
      [said, accepted, taken],
      [said, taken, accepted],
    ]) {
      const conversation = conversationAfter(...order)
      expect(conversation.pending).toEqual([])
      expect(texts(conversation)).toEqual(['read [pasted 5,000 lines]'])
    }
  })

  it('CHAN-2 are removed with the reason if refused; messages from elsewhere are marked', () => {
    expect(texts(conversationAfter(said, { type: 'refused', key: 'k', reason: 'Not sent: too long' }))).toEqual([
      'Not sent: too long',
    ])
    expect(conversationAfter(message('8', 'from afar', 'telegram')).items).toMatchObject([
      { kind: 'user', from: 'telegram' },
    ])
    expect(conversationAfter(message('9', 'Every morning', 'schedule')).items).toMatchObject([
      { kind: 'note', tone: 'quiet' },
    ])
  })
})

describe('a build', () => {
  const common = { build_id: 'b', at: '2026-01-01T00:00:00Z' }
  const build = (event: BuildEvent): Change => ({ type: 'build', name: 'weather', event })
  const question: BuildEvent = {
    ...common,
    seq: 2,
    type: 'question',
    question_id: 'q',
    question: 'Which city?',
    expires_at: '',
  }

  it('CHAN-2 are shown in one place, and questions stay open until they are answered', () => {
    const asked = conversationAfter(build({ ...common, seq: 1, type: 'progress', message: 'Reading' }), build(question))
    expect(asked.asks).toEqual([{ kind: 'question', id: 'q', name: 'weather', text: 'Which city?' }])
    const done = [
      build({ ...common, seq: 3, type: 'answer', question_id: 'q', answer: 'Oslo', is_expired: false }),
      build({ ...common, seq: 4, type: 'complete', name: 'weather', version: 1, message: 'It works.' }),
    ].reduce(foldConversation, asked)
    expect(done.asks).toEqual([])
    expect(done.items).toMatchObject([
      {
        kind: 'build',
        state: 'complete',
        lines: ['Reading', 'Which city?', 'Answered: Oslo', 'It works.'].map((text) => ({ text })),
      },
    ])
  })
})
