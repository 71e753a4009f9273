import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MemoryReply } from '../../../src/protocol/memory.ts'
import { byDay, dayKey, startOfDayIso, withoutMarks, withQuery } from './memory-list.tsx'

describe('withQuery', () => {
  it('PAGE-6 keeps the rest of the address, and drops empty values', () => {
    const query = new URLSearchParams('tab=facts&entity=Ruth')
    expect(withQuery(query, { entity: 'Ann & Bo' })).toBe('/memory?tab=facts&entity=Ann+%26+Bo')
    expect(withQuery(query, { entity: '' })).toBe('/memory?tab=facts')
    expect(withQuery(query, { entity: '', tab: '' })).toBe('/memory')
  })
})

describe('withoutMarks', () => {
  it.each([
    ['The **17:42** is 12 minutes late.', 'The 17:42 is 12 minutes late.'],
    ['I keep it in *travel*, see `list.md`.', 'I keep it in travel, see list.md.'],
    ['# Plan\n> Ghent', 'Plan\nGhent'],
    ['See [the plan](https://example.org/plan).', 'See the plan.'],
    ['2 * 3 * 4, a*b*c and __init__.py', '2 * 3 * 4, a*b*c and __init__.py'],
    ['a ** b ** c', 'a ** b ** c'],
  ])('PAGE-6 %s', (text, plain) => {
    expect(withoutMarks(text)).toBe(plain)
  })

  it('PAGE-6 only ever removes, from any text', () => {
    const marked = fc.array(fc.constantFrom('**', '*', '__', '`', '[', '](https://a.b)', '# ', '\n', 'word', ' '))
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'grapheme' }),
          marked.map((parts) => parts.join('')),
        ),
        (text) => {
          expect(withoutMarks(text).length).toBeLessThanOrEqual(text.length)
        },
      ),
    )
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
