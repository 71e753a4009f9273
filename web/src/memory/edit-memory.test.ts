import { describe, expect, it } from 'vitest'
import type { MemoryReply } from '../../../src/protocol/memory.ts'
import { editOf, formOf } from './edit-memory.tsx'

const memory = {
  content: 'The key is with Ruth',
  title: 'API key',
  category: null,
  tags: ['home', 'key'],
  tier: 'long_term',
  priority: 0.8,
} as unknown as MemoryReply

describe('editOf', () => {
  it('PAGE-6 sends nothing that was not changed', () => {
    expect(editOf(memory, formOf(memory))).toEqual({})
  })

  it('PAGE-6 reads tags between commas, an emptied title as none, and percent as a share', () => {
    const form = {
      ...formOf(memory),
      title: ' ',
      tags: 'home, , door,home ',
      priority: '140',
      tier: 'short_term' as const,
    }
    expect(editOf(memory, form)).toEqual({ title: null, tags: ['home', 'door'], priority: 1, tier: 'short_term' })
    expect(editOf(memory, { ...formOf(memory), priority: '' })).toEqual({})
  })
})
