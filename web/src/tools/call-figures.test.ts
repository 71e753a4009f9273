import { expect, it } from 'vitest'
import type { ToolCallReply } from '../../../src/protocol/tool-api.ts'
import { callFigures } from './call-figures.ts'

function call(duration_ms: number, outcome: ToolCallReply['outcome'] = 'succeeded'): ToolCallReply {
  return {
    id: String(duration_ms),
    tool: 'weather',
    caller: 'user',
    session_id: null,
    turn_id: null,
    topic: '',
    outcome,
    at: `2026-11-15T10:00:0${duration_ms}.000Z`,
    duration_ms,
    budget_remaining: null,
    driver: null,
    error: null,
  }
}

it('PAGE-6 figures are made from the calls', () => {
  expect(callFigures([])).toEqual({ calls: 0, failures: 0, medianMs: null, lastAt: null })
  expect(callFigures([call(9), call(1), call(3, 'timed_out')])).toEqual({
    calls: 3,
    failures: 1,
    medianMs: 3,
    lastAt: '2026-11-15T10:00:09.000Z',
  })
  expect(callFigures([call(1), call(4)]).medianMs).toBe(2.5)
})
