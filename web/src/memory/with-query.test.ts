import { describe, expect, it } from 'vitest'
import { withQuery } from './with-query.ts'

describe('withQuery', () => {
  it('PAGE-6 keeps the rest of the address, and drops what is empty', () => {
    const query = new URLSearchParams('tab=facts&entity=Ruth')
    expect(withQuery(query, { entity: 'Ann & Bo' })).toBe('/memory?tab=facts&entity=Ann+%26+Bo')
    expect(withQuery(query, { entity: '' })).toBe('/memory?tab=facts')
    expect(withQuery(query, { entity: '', tab: '' })).toBe('/memory')
  })
})
