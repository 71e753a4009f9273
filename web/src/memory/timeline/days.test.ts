import { describe, expect, it } from 'vitest'
import type { MemoryReply } from '../../../../src/protocol/memory-api.ts'
import { dayKey, startOfDay } from '../times.ts'
import { byDay } from './days.ts'

const at = (year: number, month: number, day: number, hour: number) =>
  new Date(year, month - 1, day, hour).toISOString()
const memory = (id: string, created_at: string) => ({ id, created_at }) as MemoryReply

describe('byDay', () => {
  it('PAGE-6 puts together what is of one day by the clock of whoever looks', () => {
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
    const start = startOfDay(1, new Date(2026, 2, 1, 13))
    expect(dayKey(start)).toBe('2026-02-28')
    expect(new Date(start).getHours()).toBe(0)
  })
})
