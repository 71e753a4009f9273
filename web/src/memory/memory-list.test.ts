import { describe, expect, it } from 'vitest'
import type { MemoryReply } from '../../../src/protocol/memory.ts'
import { byDay, dayKey, startOfDayIso, withQuery } from './memory-list.tsx'

describe('withQuery', () => {
  it('PAGE-6 keeps the rest of the address, and drops empty values', () => {
    const query = new URLSearchParams('tab=facts&entity=Ruth')
    expect(withQuery(query, { entity: 'Ann & Bo' })).toBe('/memory?tab=facts&entity=Ann+%26+Bo')
    expect(withQuery(query, { entity: '' })).toBe('/memory?tab=facts')
    expect(withQuery(query, { entity: '', tab: '' })).toBe('/memory')
  })
})

const at = (year: number, month: number, day: number, hour: number) =>
  new Date(year, month - 1, day, hour).toISOString()
const memory = (id: string, created_at: string) => ({ id, created_at }) as MemoryReply

describe('byDay', () => {
  it('PAGE-6 groups memories by day in the time zone of the reader', () => {
    const days = byDay([
      memory('a', at(2026, 11, 15, 23)),
      memory('b', at(2026, 11, 15, 0)),
      memory('c', at(2026, 11, 14, 23)),
      memory('d', 'no time at all'),
    ])
    expect(days.map(({ key, memories }) => [key, memories.map(({ id }) => id).join('')])).toEqual([
      ['2026-11-15', 'ab'],
      ['2026-11-14', 'c'],
      ['no time at', 'd'],
    ])
    expect(byDay([])).toEqual([])
  })
})

describe('startOfDay', () => {
  it('PAGE-6 is the first moment of a day, over the end of a month', () => {
    const start = startOfDayIso(1, new Date(2026, 2, 1, 13))
    expect(dayKey(start)).toBe('2026-02-28')
    expect(new Date(start).getHours()).toBe(0)
  })
})
