import { expect, it } from 'vitest'
import type { ToolSummaryReply } from '../../../src/protocol/tool-api.ts'
import { findInTools } from './find-in-tools.ts'

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
