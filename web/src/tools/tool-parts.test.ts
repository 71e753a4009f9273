import { expect, it } from 'vitest'
import type { ToolCallReply, ToolSummaryReply } from '../../../src/protocol/tools.ts'
import { callFigures, findInTools } from './tool-parts.tsx'

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

function tool(name: string, more: Partial<ToolSummaryReply> = {}): ToolSummaryReply {
  return {
    name,
    description: `What ${name} does`,
    version: null,
    category: null,
    icon: null,
    kind: 'builtin',
    trigger: 'on_demand',
    status: 'system',
    problem: null,
    ...more,
  }
}

it('PAGE-6 tools are found by every word, the user’s own before Familiar’s', () => {
  const tools = [
    tool('web_search'),
    tool('weather', { kind: 'contract', status: 'connected' }),
    tool('mail', { kind: 'contract', status: 'available' }),
    tool('broken', { kind: 'mcp', status: 'error' }),
  ]
  const names = (query: string, kind = '') => findInTools(tools, query, kind).map(({ name }) => name)
  expect(names('')).toEqual(['broken', 'mail', 'weather', 'web_search'])
  expect(names('Search WEB')).toEqual(['web_search'])
  expect(names('', 'contract')).toEqual(['mail', 'weather'])
  expect(names('nothing at all')).toEqual([])
})
