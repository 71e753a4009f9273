import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readLearned } from './extraction.ts'

const empty = { notes: [], facts: [], commitments: [], aliases: [], episode: null }

describe('readLearned', () => {
  it('MEM-8 reads each kind as one line of sanitized text', () => {
    const answer = {
      notes: [{ content: ' I like\n tea \u202e', tags: ['drink', 7, ''], tier: 'short_term', id: 'mine' }],
      facts: [
        { entity: 'Anna', attribute: 'lives_in', value: 'Rome', confidence: 1 },
        { entity: 'user', attribute: 'age', value: 41 },
      ],
      commitments: [{ who: 'user', to_whom: null, what: 'send photos', deadline: '2026-11-20' }],
      aliases: [
        { alias: 'Bea', entity: 'Beatrice' },
        { alias: 'Tom', entity: 'TOM' },
      ],
      episode: { summary: 'They planned a trip to Rome.', topics: ['Rome'], decisions: 'none', tone: 7 },
    }
    expect(readLearned(JSON.stringify(answer))).toEqual({
      notes: [{ content: 'I like tea', tags: ['drink'], tier: 'short_term' }],
      facts: [
        { entity: 'Anna', attribute: 'lives in', value: 'Rome', confidence: 0.9 },
        { entity: 'user', attribute: 'age', value: '41', confidence: 0.8 },
      ],
      commitments: [{ who: 'user', toWhom: null, what: 'send photos', deadline: '2026-11-20' }],
      aliases: [{ alias: 'Bea', entity: 'Beatrice' }],
      episode: { summary: 'They planned a trip to Rome.', topics: ['Rome'], decisions: [], tone: null },
    })
  })

  it('MEM-8 recognizes the items of a bare list by their fields', () => {
    const read = readLearned('[{"content": "I like tea"}, {"entity": "Anna", "attribute": "job", "value": "nurse"}]')
    expect(read).toMatchObject({ notes: [{ content: 'I like tea' }], facts: [{ entity: 'Anna', value: 'nurse' }] })
  })

  it('MEM-8 is empty for JSON of another shape, and undefined for none', () => {
    for (const answer of ['{}', '[]', '{"notes": {"content": "x"}}', '{"facts": [[[[]]]]}', '{"notes": null}']) {
      expect(readLearned(answer)).toEqual(empty)
    }
    expect(readLearned('I found nothing to keep.')).toBeUndefined()
  })

  it('MEM-8 rejects text that is too long, and limits the number of items', () => {
    const facts = Array.from({ length: 500 }, (_, index) => ({
      entity: 'Anna',
      attribute: 'likes',
      value: `tea ${index}`,
    }))
    expect(readLearned(JSON.stringify({ facts }))?.facts).toHaveLength(20)
    const notes = [{ content: 'x'.repeat(100_000) }, { content: 'I like tea', tags: Array(1000).fill('tea') }]
    expect(readLearned(JSON.stringify({ notes }))?.notes).toEqual([
      { content: 'I like tea', tags: Array(6).fill('tea'), tier: 'long_term' },
    ])
    expect(readLearned(JSON.stringify({ notes: [{ content: 'x'.repeat(1_000_000) }] }))).toBeUndefined()
  })

  it('MEM-8 reads any JSON without an error, into limited text', () => {
    const item = fc.record(
      {
        content: fc.anything(),
        tags: fc.anything(),
        entity: fc.anything(),
        attribute: fc.anything(),
        value: fc.anything(),
        who: fc.anything(),
        what: fc.anything(),
        alias: fc.anything(),
        summary: fc.anything(),
      },
      { requiredKeys: [] },
    )
    const answer = fc.record(
      {
        notes: fc.array(item),
        facts: fc.array(item),
        commitments: fc.array(item),
        aliases: fc.array(item),
        episode: item,
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(answer, (value) => {
        const read = readLearned(toJson(value))
        for (const note of read?.notes ?? []) expect(note.content.length).toBeLessThanOrEqual(600)
        for (const fact of read?.facts ?? []) expect(fact.value.split('\n')).toHaveLength(1)
      }),
    )
  })
})

function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? String(inner) : inner)) ?? ''
}
