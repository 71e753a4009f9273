import { describe, expect, it } from 'vitest'
import type { TraceReply, TraceSpan } from '../../../src/protocol/status.ts'
import { ticksOf, timelineOf, traceSums } from './timeline.ts'

const at = (ms: number) => new Date(1_000_000 + ms).toISOString()
const usage = { input_tokens: 100, output_tokens: 10, cache_read_tokens: 50, cache_write_tokens: 0 }

function span(kind: TraceSpan['kind'], from: number, to: number | null, more: Partial<TraceSpan> = {}): TraceSpan {
  return {
    seq: from,
    kind,
    name: kind,
    detail: '',
    started_at: at(from),
    ended_at: to === null ? null : at(to),
    is_error: false,
    usage: null,
    cost_usd: null,
    ...more,
  }
}

function traceOf(spans: TraceSpan[], ended: number | null, more: Partial<TraceReply> = {}): TraceReply {
  return {
    session_id: 's',
    turn_id: 't',
    started_at: at(0),
    ended_at: ended === null ? null : at(ended),
    outcome: null,
    message: '',
    spans,
    other_calls: [],
    ...more,
  }
}

describe('the timeline of a turn', () => {
  it('places spans as parts of its length, in the order in which they began', () => {
    const trace = traceOf([span('tool', 500, 750), span('model', 0, 500)], 1_000)
    const { tookMs, spans } = timelineOf(trace, 9_999_999)
    expect(tookMs).toBe(1_000)
    expect(spans.map(({ span: { kind }, from, width }) => [kind, from, width])).toEqual([
      ['model', 0, 0.5],
      ['tool', 0.5, 0.25],
    ])
  })

  it('ends a running span now', () => {
    const { tookMs, spans } = timelineOf(traceOf([span('model', 100, null)], null), 1_000_000 + 400)
    expect([tookMs, spans[0]?.tookMs, spans[0]?.isRunning]).toEqual([400, 300, true])
  })

  it('keeps everything inside, also a wait that reaches past the end', () => {
    const { spans, tookMs } = timelineOf(traceOf([span('wait', 100, 2_000)], 1_000), 0)
    expect(tookMs).toBe(2_000)
    expect((spans[0]?.from ?? 0) + (spans[0]?.width ?? 0)).toBeLessThanOrEqual(1)
  })

  it.each([1, 7, 1_800, 61_000, 3_600_000])('has few round ticks for %d ms', (tookMs) => {
    const ticks = ticksOf(tookMs)
    expect(ticks.length).toBeGreaterThanOrEqual(2)
    expect(ticks.length).toBeLessThanOrEqual(8)
    expect(ticks[0]).toEqual({ at: 0, ms: 0 })
  })

  it('COST-1 sums the calls of the turn, and names calls without a price', () => {
    const other = { at: at(1), session_id: 'sub', purpose: 'subagent', model: 'b', usage }
    const trace = traceOf([span('model', 0, 10, { usage, cost_usd: 0.5 }), span('wait', 10, 40)], 50, {
      other_calls: [
        { ...other, state: 'settled', cost_usd: null },
        { ...other, state: 'failed', cost_usd: 0 },
      ],
    })
    expect(traceSums(trace)).toMatchObject({ calls: 2, inputTokens: 200, costUsd: 0.5, unpricedCalls: 1, waitedMs: 30 })
  })
})
