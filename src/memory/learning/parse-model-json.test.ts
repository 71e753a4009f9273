import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { fieldOf, readItems, readModelJson } from './ask-model.ts'

const prose = fc.stringMatching(/^[A-Za-z ,.:]{0,40}$/)
const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))

describe('readModelJson', () => {
  it('MEM-8 reads JSON alone, in a fence, and with prose around it', () => {
    fc.assert(
      fc.property(fc.oneof(object, fc.array(fc.jsonValue({ maxDepth: 2 }))), prose, prose, (value, before, after) => {
        const text = JSON.stringify(value)
        const expected = JSON.parse(text)
        for (const answer of [
          text,
          JSON.stringify(value, null, 2),
          `\`\`\`json\n${text}\n\`\`\``,
          `${before}\n\`\`\`\n${text}\n\`\`\`\n${after}`,
          `${before} ${text} ${after}`,
        ]) {
          expect(readModelJson(answer)).toEqual(expected)
        }
      }),
    )
  })

  it('MEM-8 ignores brackets of the prose, and those inside strings', () => {
    expect(readModelJson('Here {is} what [I] found: {"a": "}]{\\"["}')).toEqual({ a: '}]{"[' })
  })

  it('MEM-8 treats invalid JSON as none', () => {
    for (const answer of ['', 'nothing', '{"a": 1,}', '{"a": ', '[1, 2', '"text"', '12', 'null', '{a: 1}']) {
      expect(readModelJson(answer)).toBeUndefined()
    }
  })

  it('MEM-8 survives any text, deep nesting and a flood of brackets', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void readModelJson(text)))
    for (const text of ['['.repeat(200_000), '{"a":'.repeat(50_000), '{'.repeat(100) + '"'.repeat(99_999)]) {
      expect(readModelJson(text)).toBeUndefined()
    }
    expect(readModelJson(`${'['.repeat(5_000)}${']'.repeat(5_000)}`)).toBeDefined()
  })
})

describe('readItems', () => {
  const schema = z.object({ name: z.string().max(10) })

  it('MEM-8 checks each item separately, drops unknown fields, and stops at the limit', () => {
    const items = [
      { name: 'a', more: 1 },
      { name: 'too long for this' },
      'text',
      null,
      [[]],
      { name: 'b' },
      { name: 'c' },
    ]
    expect(readItems(items, schema, 2)).toEqual([{ name: 'a' }, { name: 'b' }])
    for (const value of [undefined, null, 'text', 7, { length: 3 }]) expect(readItems(value, schema, 2)).toEqual([])
    expect(readItems(Array(1_000_000).fill({ name: 'a' }), schema, 5)).toHaveLength(5)
  })

  it('MEM-8 reads nothing from a prototype and does not change it', () => {
    const value = readModelJson('{"__proto__": {"notes": [1]}, "constructor": {"prototype": {"polluted": true}}}')
    expect(fieldOf(value, 'notes')).toBeUndefined()
    expect(fieldOf(value, 'toString')).toBeUndefined()
    expect(fieldOf('text', 'length')).toBeUndefined()
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})
