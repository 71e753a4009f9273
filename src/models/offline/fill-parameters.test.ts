import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../protocol/messages.ts'
import { fillParameters } from './use-tool.ts'

const weather = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer', default: 1 },
    max_results: { type: 'number' },
    metric: { type: 'boolean' },
    tags: { type: 'array' },
  },
  required: ['city', 'days'],
}
const one = { type: 'object', properties: { text: { type: 'string' }, loud: { type: 'boolean' } }, required: ['text'] }

describe('fillParameters', () => {
  it.each([
    ['city Paris, days 3', { city: 'Paris', days: 3 }],
    ['city: New York, days=3 and metric yes', { city: 'New York', days: 3, metric: true }],
    ['City is “Rome, Italy”; max results 2.5', { city: 'Rome, Italy', max_results: 2.5 }],
    ['days 2 and city Sligo and Ballina', { city: 'Sligo and Ballina', days: 2 }],
    ['city Paris, tags a, b', { city: 'Paris', tags: ['a', 'b'] }],
    ['{"city": "Paris", "days": 2}', { city: 'Paris', days: 2 }],
    ['city Paris, days many', { city: 'Paris', days: 'many' }],
  ])('reads “%s”', (words, values) => {
    expect(fillParameters(words, weather)).toEqual({ values, missing: [] })
  })

  it('uses words without a parameter name for the one required parameter', () => {
    expect(fillParameters('“Hello, and welcome.”', one)).toEqual({
      values: { text: 'Hello, and welcome.' },
      missing: [],
    })
    expect(fillParameters('Hello', weather)).toEqual({ values: {}, missing: ['city'] })
    expect(fillParameters('', one)).toEqual({ values: {}, missing: ['text'] })
  })

  it('SEC-18 reads a megabyte of anything quickly', () => {
    for (const piece of [' ', ',', ' and ', '"', 'city ', ', city ', ', days ', '{', ':', '\n']) {
      const text = piece.repeat(1_000_000 / piece.length)
      for (const words of [text, `city ${text}x`, `city x${text}, days 3`]) fillParameters(words, weather)
    }
  })

  it('never throws for any words and schema', () => {
    fc.assert(fc.property(fc.string(), fc.jsonValue(), (words, schema) => void fillParameters(words, schema as Json)))
    fc.assert(fc.property(fc.string(), (words) => void fillParameters(`city ${words}, days ${words}`, weather)))
  })
})
