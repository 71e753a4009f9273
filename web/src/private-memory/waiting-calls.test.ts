import { expect, it } from 'vitest'
import type { TurnEvent } from '../../../src/protocol/event.ts'
import { addEvent, emptyConversation } from '../talk/conversation.ts'
import { waitingCalls } from './waiting-calls.ts'

const turnId = 't'
const message = (messageId: string): TurnEvent => ({
  type: 'message',
  messageId,
  text: '',
  sender: 'max',
  source: 'web',
})
const start: TurnEvent = { type: 'turn_start', turnId, model: 'm' }
const asked = (callId: string, name: string): TurnEvent[] => [
  { type: 'tool_start', turnId, callId, name, input: {} },
  { type: 'tool_calls', turnId, toolCalls: [{ id: callId, name, arguments: {} }], meta: { has_tool_calls: true } },
]
const waiting = (...events: TurnEvent[]) =>
  waitingCalls(events.reduce((all, event, index) => addEvent(all, { cursor: String(index), event }), emptyConversation))

it('CLIENT-2 the page makes the calls that wait for it, for the message before their turn', () => {
  const earlier: TurnEvent[] = [message('m0'), { type: 'turn_start', turnId: 'before', model: 'm' }]
  expect(waiting(...earlier, message('m1'), start, ...asked('c', 'save_memory'))).toEqual([
    { callId: 'c', name: 'save_memory', input: {}, messageIds: ['m1'] },
  ])
})

it('CLIENT-2 it leaves alone what the daemon runs, what others run, and what is over', () => {
  const [begun] = asked('c', 'save_memory')
  const result: TurnEvent = { type: 'tool_result', turnId, callId: 'c', name: '', result: '', isError: false }
  expect(waiting(message('m'), start, begun as TurnEvent)).toEqual([])
  expect(waiting(message('m'), start, ...asked('c', 'ring_bell'))).toEqual([])
  expect(waiting(message('m'), start, ...asked('c', 'save_memory'), result)).toEqual([])
  expect(
    waiting(message('m'), start, ...asked('c', 'save_memory'), { type: 'turn_end', turnId, outcome: 'stopped' }),
  ).toEqual([])
})
