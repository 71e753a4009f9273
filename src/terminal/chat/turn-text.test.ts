import { expect, it } from 'vitest'
import type { TurnEvent } from '../../protocol/events.ts'
import { createTurnText } from './plain-chat.ts'

const turnId = 't'
const text = (text: string): TurnEvent => ({ type: 'text_delta', turnId, text })
const started = (callId: string, name: string, input: Record<string, string>): TurnEvent => ({
  type: 'tool_start',
  turnId,
  callId,
  name,
  input,
})
const finished = (callId: string, name: string, result: string, isError = false): TurnEvent => ({
  type: 'tool_result',
  turnId,
  callId,
  name,
  result,
  isError,
})
const response = (text: string, deliver = true): TurnEvent => ({
  type: 'response',
  turnId,
  text,
  buildId: null,
  pendingQuestion: null,
  toolCalls: [],
  deliver,
})
const end: TurnEvent = { type: 'turn_end', turnId, outcome: 'completed' }

function show(events: (TurnEvent | number)[], colours = false): string {
  let time = 0
  const turn = createTurnText({ now: () => time, colours })
  let shown = ''
  for (const event of events) {
    if (typeof event === 'number') time += event
    else shown += turn.add(event)
  }
  return shown
}

it('CLI-1 shows the reply as it streams, once', () => {
  expect(show([text('\n\nHel'), text('lo.'), response('Hello.'), end])).toBe('Hello.\n')
  expect(show([response('Not streamed.'), end])).toBe('Not streamed.\n')
  expect(show([text('Half of'), response('Half of it.\n\n[Stopped.]'), end])).toBe('Half of it.\n\n[Stopped.]\n')
  expect(show([text('Something'), response('Something else'), end])).toBe('Something else\n')
  expect(show([text('Draft'), response('Other words'), end])).toBe('Draft\nOther words\n')
  expect(show([response('NO_REPLY', false), end])).toBe('')
})

it('CLI-1 shows each tool as one line with its time and outcome', () => {
  const events = [
    text('Let me look.'),
    started('1', 'recall_memory', { query: 'dog\nand cat' }),
    started('2', 'memory_get', { id: 'x' }),
    1_500,
    finished('2', 'memory_get', 'There is no\nmemory x', true),
    finished('1', 'recall_memory', 'Rex'),
    text('Rex.'),
    response('Rex.'),
    end,
  ]
  expect(show(events)).toBe(
    [
      'Let me look.',
      '  · memory_get "x", 1.5 s, failed: There is no memory x',
      '  · recall_memory "dog and cat", 1.5 s, ok',
      'Rex.',
      '',
    ].join('\n'),
  )
})

it('LOOP-7 notes a retry and shows the new text from its beginning', () => {
  const retry: TurnEvent = { type: 'retry', turnId, attempt: 1, reason: 'overloaded (HTTP 529)', waitMs: 2_000 }
  expect(show([text('Once up'), retry, text('Once upon a time.'), response('Once upon a time.'), end])).toBe(
    'Once up\n  · overloaded (HTTP 529); trying again in 2.0 s\nOnce upon a time.\n',
  )
})

it('SEC-10 removes escape sequences of any origin', () => {
  const nasty = '\u001b[31m\u009b2J\u202e'
  const shown = show([
    text(`a${nasty}b`),
    started('1', 'fetch', { url: `u${nasty}` }),
    finished('1', `fetch${nasty}`, `r${nasty}`, true),
    response(`a${nasty}b c`),
    end,
  ])
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not reach a terminal.
  expect(shown).not.toMatch(/[\u001b\u009b\u202e]/)
})

it('CLI-1 shows the current activity while there is no output', () => {
  const turn = createTurnText({ now: () => 0, colours: false })
  expect(turn.activity()).toBe('thinking')
  turn.add(started('1', 'a', {}))
  turn.add(started('2', 'b', {}))
  expect(turn.activity()).toBe('a, b')
  turn.add(finished('1', 'a', ''))
  turn.add(finished('2', 'b', ''))
  turn.add(text('Well'))
  expect(turn.activity()).toBeUndefined()
})
