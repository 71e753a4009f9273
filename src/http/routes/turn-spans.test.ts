import { describe, expect, it } from 'vitest'
import type { LoggedEvent, SessionEvent } from '../../agent/sessions/session-event.ts'
import { spansOf } from './traces.ts'

const usage = { inputTokens: 100, outputTokens: 5, cacheReadTokens: 60, cacheWriteTokens: 0 }
const started: SessionEvent = {
  type: 'turn_started',
  messageIds: ['m'],
  source: 'web',
  tier: 'full',
  model: 'a/large',
  context: '',
  recalled: [],
}
const responded: SessionEvent = {
  type: 'model_responded',
  model: 'a/large',
  parts: [],
  stopReason: 'end',
  usage,
  costNanousd: 2_000_000,
}
const begun = (callId: string): SessionEvent => ({
  type: 'tool_started',
  callId,
  name: 'look',
  input: { at: callId },
  effect: 'idempotent',
})
const finished = (callId: string, isError = false): SessionEvent => ({
  type: 'tool_finished',
  callId,
  name: 'look',
  text: 'not there',
  isError,
})
const ended: SessionEvent = {
  type: 'turn_ended',
  outcome: 'completed',
  text: '',
  question: null,
  toolCalls: [],
  deliver: true,
}

const logged = (events: [at: number, event: SessionEvent][]): LoggedEvent[] =>
  events.map(([at, event], index) => ({ ...event, at, seq: index + 1, turnId: 't' }))

const shape = (events: [at: number, event: SessionEvent][]) =>
  spansOf(logged(events)).map(({ kind, startedAt, endedAt }) => [kind, startedAt, endedAt])

describe('the steps of a turn on a line of time', () => {
  it('PAGE-6 a model is asked when the step before is over, and tools run side by side', () => {
    const events: [number, SessionEvent][] = [
      [1_000, started],
      [1_400, responded],
      [1_400, begun('a')],
      [1_410, begun('b')],
      [1_500, finished('b')],
      [1_900, finished('a', true)],
      [2_500, responded],
      [2_500, ended],
    ]
    expect(shape(events)).toEqual([
      ['model', 1_000, 1_400],
      ['tool', 1_410, 1_500],
      ['tool', 1_400, 1_900],
      ['model', 1_900, 2_500],
    ])
    const [model, good, bad] = spansOf(logged(events))
    expect(model).toMatchObject({ name: 'a/large', usage: { cacheReadTokens: 60 }, costUsd: 0.002 })
    expect(good).toMatchObject({ detail: '{"at":"b"}', isError: false, usage: null, costUsd: null })
    expect(bad).toMatchObject({ detail: 'not there', isError: true })
  })

  it('PAGE-6 a failure, the wait after it and the next try are apart, each with the model that was asked', () => {
    const failed = (more: object) =>
      ({ type: 'model_failed', model: 'a/large', attempt: 2, reason: 'busy', waitMs: 500, ...more }) as SessionEvent
    const events: [number, SessionEvent][] = [
      [0, started],
      [100, failed({})],
      [700, failed({ model: 'b/small', attempt: 1, waitMs: 0 })],
      [900, { ...responded, model: 'b/small' } as SessionEvent],
      [900, ended],
    ]
    expect(shape(events)).toEqual([
      ['model', 0, 100],
      ['wait', 100, 600],
      ['model', 600, 700],
      ['model', 700, 900],
    ])
    expect(spansOf(logged(events)).map(({ name, detail, isError }) => [name, detail, isError])).toEqual([
      ['a/large', 'busy', true],
      ['Wait', 'before try 2', false],
      ['a/large', 'busy', true],
      ['b/small', '', false],
    ])
  })

  it('PAGE-6 a running step has no end', () => {
    expect(shape([[0, started]])).toEqual([['model', 0, null]])
    expect(
      shape([
        [0, started],
        [50, responded],
        [60, begun('a')],
      ]),
    ).toEqual([
      ['model', 0, 50],
      ['tool', 60, null],
    ])
    expect(spansOf([])).toEqual([])
  })

  it('PAGE-3 long and hostile text is cut and made harmless', () => {
    const [tool] = spansOf(logged([[1, { ...begun('x'), input: `\u202e${'y'.repeat(5_000)}` } as SessionEvent]]))
    expect(tool?.detail.length).toBeLessThan(300)
    expect(tool?.detail).not.toContain('\u202e')
  })
})
