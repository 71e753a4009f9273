import { describe, expect, it } from 'vitest'
import { weights } from '../../../src/memory/recall/weights.ts'
import { formatAdded, reasonsOf } from './search-tab.tsx'

describe('reasonsOf', () => {
  it('PAGE-6 has words for everything that recall ranks by', () => {
    const signals = Object.keys(weights).map((name) => ({ name, value: 1, added: 0.1 }))
    for (const { name, meaning } of reasonsOf(signals)) expect([name, meaning]).not.toContain('')
  })

  it('PAGE-6 measures each against the largest, whatever its sign, and shows what is new as it is called', () => {
    const reasons = reasonsOf([
      { name: 'words', rank: 2, value: 1, added: 0.6 },
      { name: 'is long', value: 1, added: -0.15 },
      { name: 'something new', value: 1, added: 0 },
    ])
    expect(reasons.map(({ name, rank, share }) => [name, rank, share])).toEqual([
      ['Words', 2, 1],
      ['Long', undefined, 0.25],
      ['something new', undefined, 0],
    ])
    expect(reasons.map(({ added }) => formatAdded(added))).toEqual(['+0.60', '−0.15', '+0.00'])
    expect(reasonsOf([])).toEqual([])
  })
})
