import { describe, expect, it } from 'vitest'
import { fuzzyMatch } from './fuzzy.ts'

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
