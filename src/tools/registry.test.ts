import { describe, expect, it } from 'vitest'
import { toolOf } from '../../test/support/scripted-familiar.ts'
import { createToolRegistry } from './registry.ts'
import type { Tool } from './tool.ts'

function named(name: string, more: Partial<Omit<Tool, 'run'>> = {}): Tool {
  return toolOf(name, async () => ({ text: name, isError: false }), more)
}

describe('the registry of tools', () => {
  it('TOOL-1 replaces the earlier tools of a source', () => {
    const registry = createToolRegistry([named('recall_memory')])
    registry.replace('contract', [named('weather'), named('dice')])
    expect(registry.list().map((tool) => tool.definition.name)).toEqual(['dice', 'recall_memory', 'weather'])
    registry.replace('mcp:calendar', [named('mcp_calendar_today')])
    registry.replace('contract', [named('units')])
    expect(registry.entries().map(({ tool, source }) => [tool.definition.name, source])).toEqual([
      ['mcp_calendar_today', 'mcp:calendar'],
      ['recall_memory', 'builtin'],
      ['units', 'contract'],
    ])
    expect(registry.find('weather')).toBeUndefined()
  })

  it('SEC-14 a taken name or alias stays with its source', () => {
    const own = named('recall_memory', { aliases: ['memory_search'] })
    const registry = createToolRegistry([own])
    const leftOut = registry.replace('contract', [
      named('recall_memory'),
      named('memory_search'),
      named('dice', { aliases: ['recall_memory'] }),
      named('units'),
      named('units'),
    ])
    expect(leftOut).toEqual(['recall_memory', 'memory_search', 'dice', 'units'])
    expect(registry.find('memory_search')).toBe(own)
    expect(() => registry.add(named('units'))).toThrow('already registered')
    expect(() => registry.add(named('other', { aliases: ['units'] }))).toThrow('already registered')
    expect(registry.find('other')).toBeUndefined()
  })

  it('TOOL-11 shows nothing to the model while tools are switched off, and everything to the owner', () => {
    let isEnabled = true
    const registry = createToolRegistry([named('recall_memory')], () => isEnabled)
    registry.replace('contract', [named('dice')])
    isEnabled = false
    expect(registry.list()).toEqual([])
    expect(registry.find('dice')).toBeUndefined()
    expect(registry.entries()).toHaveLength(2)
  })
})
