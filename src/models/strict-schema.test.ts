import fastCheck from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../protocol/messages.ts'
import { dropAddedNulls, type JsonSchema, toStrictSchema } from './strict-schema.ts'

const nested: JsonSchema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    size: { type: 'integer' },
    mode: { enum: ['a', 'b'] },
    where: {
      type: 'object',
      properties: { city: { type: 'string' }, zip: { type: ['string', 'null'] } },
      required: ['city'],
    },
    tags: { type: 'array', items: { type: 'object', properties: { tag: { type: 'string' } } } },
  },
  required: ['name', 'where'],
}

describe('toStrictSchema', () => {
  it('MODEL-5 closes every level', () => {
    const closed = toStrictSchema(nested, 'closed')
    expect(closed).toMatchObject({
      additionalProperties: false,
      required: ['name', 'where'],
      properties: {
        where: { additionalProperties: false, required: ['city'] },
        tags: { items: { additionalProperties: false } },
      },
    })
  })

  it('MODEL-5 makes optional properties nullable if everything must be required', () => {
    expect(toStrictSchema(nested, 'complete')).toMatchObject({
      required: ['name', 'size', 'mode', 'where', 'tags'],
      properties: {
        name: { type: 'string' },
        size: { type: ['integer', 'null'] },
        mode: { anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] },
        where: { required: ['city', 'zip'], properties: { zip: { type: ['string', 'null'] } } },
        tags: { type: ['array', 'null'], items: { required: ['tag'] } },
      },
    })
  })

  it.each<[string, JsonSchema]>([
    ['a map', { type: 'object', properties: { env: { type: 'object', additionalProperties: { type: 'string' } } } }],
    ['anything', { type: 'object', properties: { any: { type: 'object' } } }],
    ['a choice', { type: 'object', properties: { x: { oneOf: [{ type: 'string' }, { type: 'number' }] } } }],
  ])('MODEL-5 leaves a schema with %s unchanged', (_what, schema) => {
    expect(toStrictSchema(schema, 'complete')).toBeUndefined()
  })

  it('MODEL-5 does not change the given schema', () => {
    const before = structuredClone(nested)
    toStrictSchema(nested, 'complete')
    expect(nested).toEqual(before)
  })
})

describe('dropAddedNulls', () => {
  it('MODEL-5 removes the nulls that stand for missing properties, and only those', () => {
    const input = { name: 'x', size: null, mode: null, where: { city: 'Oslo', zip: null }, tags: [{ tag: null }] }
    expect(dropAddedNulls(nested, input)).toEqual({ name: 'x', where: { city: 'Oslo', zip: null }, tags: [{}] })
  })

  it('MODEL-5 accepts any JSON and changes only nulls', () => {
    fastCheck.assert(
      fastCheck.property(fastCheck.jsonValue(), (value) => {
        const input = value as Json
        const without = JSON.parse(JSON.stringify(input)) as Json
        const result = dropAddedNulls(nested, without)
        if (!JSON.stringify(input).includes('null')) expect(result).toEqual(without)
      }),
    )
  })
})
