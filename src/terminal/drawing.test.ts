import { expect, it } from 'vitest'
import { formatBytes, formatDollars, formatDuration } from '../base/text.ts'
import type { MonitorReply } from '../protocol/api.ts'
import { describeMonitor } from './commands/daemon.ts'
import { drawContext } from './commands/sessions.ts'

it('CTX-6 draws the use of the window: per block its kind, tokens, cached or fresh', () => {
  const { rows, summary } = drawContext({
    tokenizer: 'an estimate',
    last_request_tokens: null,
    threshold_tokens: 150_000,
    blocks: [
      { name: 'tools', tier: 'stable', tokens: 900, cached: true },
      { name: 'context', tier: 'dynamic', tokens: 99, cached: false },
      { name: 'empty', tier: 'dynamic', tokens: 0, cached: false },
    ],
  })
  expect(rows).toEqual([
    ['tools', 'stable', '900', 'cached', `${'█'.repeat(27)} 90%`],
    ['context', 'dynamic', '99', 'fresh', '░░░ 10%'],
    ['empty', 'dynamic', '0', 'fresh', ' 0%'],
  ])
  expect(summary[0]).toBe('999 tokens (an estimate), of which 900 cached.')
})

it('MON-1 shows each running activity in one line', () => {
  const at = '2026-11-15T10:00:00.000Z'
  expect(describeMonitor({ state: 'idle', updated_at: at, turns: [] }, 0)).toEqual(['idle'])
  const turn = {
    session_id: 's',
    channel: 'http',
    contact: 'main',
    turn_id: 't',
    model: 'a/b',
    started_at: at,
    updated_at: at,
  }
  const reply: MonitorReply = {
    state: 'tools',
    updated_at: at,
    turns: [
      { ...turn, state: 'tools', round: 2, tools: ['find', 'fetch'], input_tokens: 1_200, output_tokens: 30 },
      { ...turn, contact: 'other', state: 'retry_wait', round: 1, tools: [], input_tokens: 0, output_tokens: 0 },
    ],
  }
  expect(describeMonitor(reply, Date.parse(at) + 61_000)).toEqual([
    'running tools (2 turns)',
    '  main: find, fetch, 1 min 1 s, round 2, a/b, 1,200 in, 30 out',
    '  other: waiting to retry, 1 min 1 s, round 1, a/b, 0 in, 0 out',
  ])
})

it('COST-1 writes an unknown price as unknown, and small sums with their cents of a cent', () => {
  expect([null, 0, 0.0042, 12.3456, 99.5, 100, 1234.5].map(formatDollars)).toEqual([
    'unpriced',
    '$0.00',
    '$0.0042',
    '$12.3456',
    '$99.5000',
    '$100.00',
    '$1234.50',
  ])
  expect([5, 1_500, 61_000, 3_660_000, 90_000_000].map(formatDuration)).toEqual([
    '5 ms',
    '1.5 s',
    '1 min 1 s',
    '1 h 1 min',
    '1 d 1 h',
  ])
  expect([999, 20_000_000].map(formatBytes)).toEqual(['999 bytes', '20.0 MB'])
})
