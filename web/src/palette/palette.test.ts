import { describe, expect, it } from 'vitest'
import { findEntries, fuzzyMatch, type PaletteEntry } from './palette.tsx'

const best = (query: string, texts: string[]) =>
  texts
    .flatMap((text) => {
      const match = fuzzyMatch(query, text)
      return match ? [{ text, score: match.score }] : []
    })
    .sort((a, b) => b.score - a.score)
    .map(({ text }) => text)

describe('fuzzyMatch', () => {
  it('finds characters in their order, and nothing else', () => {
    expect(fuzzyMatch('schd', 'Schedules')?.places).toEqual([0, 1, 2, 4])
    expect(fuzzyMatch('dsch', 'Schedules')).toBeUndefined()
  })

  it('begins where a word does, unless it is there in one piece', () => {
    expect(fuzzyMatch('dul', 'Schedules')?.places).toEqual([4, 5, 6])
    expect(fuzzyMatch('hdl', 'Schedules')).toBeUndefined()
    expect(fuzzyMatch('wd', 'Find a word')?.places).toEqual([7, 10])
  })

  it('takes the words of a query in any order', () => {
    expect(fuzzyMatch('con new', 'New conversation')?.places).toEqual([0, 1, 2, 4, 5, 6])
  })

  it('puts beginnings of words and whole pieces first', () => {
    expect(best('set', ['The sunset in Malta', 'Settings', 'sort every tool'])).toEqual([
      'Settings',
      'The sunset in Malta',
      'sort every tool',
    ])
  })

  it('takes everything for an empty query', () => {
    expect(fuzzyMatch('', 'Anything')?.places).toEqual([])
  })
})

const entry = (group: string, label: string, more: Partial<PaletteEntry> = {}): PaletteEntry => ({
  ...{ id: `${group} ${label}`, group, label, icon: 'talk', run: () => undefined },
  ...more,
})
const entries = [
  entry('Screens', 'Schedules'),
  entry('Screens', 'Settings', { words: 'theme colors' }),
  entry('Conversations', 'Sailing school', { detail: 'the schedule of the week' }),
  ...Array.from({ length: 10 }, (_, index) => entry('Commands', `/sample${index}`)),
]
const labels = (query: string) => findEntries(entries, query).map(({ label }) => label)

describe('findEntries', () => {
  it('shows the groups in their order where nothing is typed, and a few of each', () => {
    expect(labels('').slice(0, 4)).toEqual(['Schedules', 'Settings', 'Sailing school', '/sample0'])
    expect(labels('')).toHaveLength(9)
  })

  it('finds by the name first, and then by other words', () => {
    expect(labels('sched')).toEqual(['Schedules', 'Sailing school'])
    expect(labels('theme')).toEqual(['Settings'])
    expect(labels('nothing like that')).toEqual([])
  })
})
