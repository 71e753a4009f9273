import { expect, it } from 'vitest'
import type { SessionEvent } from '../agent/sessions/session-event.ts'
import type { HistoryEvent } from '../protocol/api.ts'
import { describeEvent, logLine } from './log-line.ts'

function logged({ type, ...data }: SessionEvent): HistoryEvent {
  const at = '2026-11-15T10:13:05.000Z'
  return { seq: 12, at, turn_id: null, type, role: null, text: null, data: data as NonNullable<HistoryEvent['data']> }
}

const usage = { inputTokens: 1_200, outputTokens: 30, cacheReadTokens: 1_000, cacheWriteTokens: 0 }

it.each<[SessionEvent, string]>([
  [
    {
      type: 'message_received',
      messageId: 'm',
      text: 'Look\nhere',
      media: [{ type: 'media', hash: 'h', mediaType: 'image/png', name: 'cat.png', bytes: 3 }],
      sender: '01a1dec5-036a-7000-8fd8-f901504cefa7',
      source: 'cli',
      tier: 'full',
      metadata: {},
    },
    'message_received  you (cli): Look here [cat.png]',
  ],
  [
    {
      type: 'model_responded',
      model: 'a/b',
      parts: [
        { type: 'thinking', text: 'hm' },
        { type: 'text', text: 'Well.' },
        { type: 'tool_call', id: '1', name: 'find', input: {} },
      ],
      stopReason: 'tool_use',
      usage,
      costNanousd: 4_200_000,
    },
    'model_responded   a/b, 1,200 in (1,000 cached), 30 out, $0.0042, tool_use: [thinking] Well. [calls find]',
  ],
  [
    { type: 'model_failed', model: 'a/b', attempt: 2, reason: 'HTTP 529', waitMs: 1_500 },
    'model_failed      a/b, attempt 2: HTTP 529; again in 1.5 s',
  ],
  [
    { type: 'tool_finished', callId: '1', name: 'find', text: 'no such thing', isError: true },
    'tool_finished     find: failed: no such thing',
  ],
  [{ type: 'stop_requested' }, 'stop_requested'],
  [
    { type: 'turn_ended', outcome: 'stopped', text: 'Stopped.', question: null, toolCalls: [], deliver: true },
    'turn_ended        stopped: Stopped.',
  ],
  [{ type: 'rewound', toSeq: 4 }, 'rewound           to event 4'],
  [{ type: 'branch_chosen', toSeq: 9 }, 'branch_chosen     continues after event 9'],
  [
    { type: 'branch_chosen', toSeq: 9, removed: 'turn-1' },
    'branch_chosen     continues after event 9, without turn turn-1',
  ],
])('SESS-6 prints an event in one line: %#', (event, line) => {
  expect(describeEvent(logged(event))).toBe(line)
  expect(logLine(logged(event))).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {4}12 {2}\S/)
})

it('SESS-6 shows an event of a kind that it does not know by its name', () => {
  expect(describeEvent({ ...logged({ type: 'reset' }), type: 'from_the_future' })).toBe('from_the_future')
})
