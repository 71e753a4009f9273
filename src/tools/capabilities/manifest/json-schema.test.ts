import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../protocol/json.ts'
import { checkAgainstSchema } from './json-schema.ts'

type Schema = { [key: string]: Json }

describe('checkAgainstSchema', () => {
  it.each<[Schema, Json, Json]>([
    [{ type: 'string' }, 'x', 1],
    [{ type: ['string', 'null'] }, null, 1],
    [{ type: 'integer' }, 2, 2.5],
    [{ type: 'number' }, 2.5, '2.5'],
    [{ type: 'boolean' }, false, 0],
    [{ type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 2 }, ['a'], ['a', 1]],
    [{ type: 'array', minItems: 1 }, [1], []],
    [{ type: 'array', maxItems: 1 }, [1], [1, 2]],
    [{ type: 'object', required: ['a'] }, { a: null }, { b: 1 }],
    [{ properties: { a: { type: 'string' } } }, { a: 'x', b: 1 }, { a: 1 }],
    [{ properties: { a: {} }, additionalProperties: false }, { a: 1 }, { b: 1 }],
    [{ additionalProperties: { type: 'number' } }, { a: 1 }, { a: 'x' }],
    [{ enum: ['a', { b: 1 }] }, { b: 1 }, 'c'],
    [{ const: [1, 2] }, [1, 2], [2, 1]],
    [{ const: null }, null, 0],
    [{ minimum: 1, maximum: 3 }, 3, 4],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, 2, 3],
    [{ minLength: 2, maxLength: 3 }, '🌦️x', 'x'],
    [{ anyOf: [{ type: 'string' }, { minimum: 3 }] }, 4, 2],
    [{ oneOf: [{ minimum: 1 }, { minimum: 3 }] }, 2, 4],
    [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, 2, 4],
    [{ properties: { a: false } }, { b: 1 }, { a: 1 }],
    [{ required: ['toString'] }, { toString: 1 }, {}],
  ])('CAP-4 knows what fits %j', (schema, fitting, other) => {
    expect(checkAgainstSchema(fitting, schema)).toEqual([])
    expect(checkAgainstSchema(other, schema)).not.toEqual([])
  })

  it('CAP-4 says where and what', () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'array', items: { type: 'integer', maximum: 7 } } },
      required: ['city', 'country'],
      additionalProperties: false,
    }
    expect(checkAgainstSchema({ city: 5, days: [1, 9], town: 'x' }, schema, 'input')).toEqual([
      'input.country: expected a value, found nothing',
      'input.city: expected string, found 5',
      'input.days[1]: expected at most 7, found 9',
      'input.town: expected only city, days',
    ])
  })

  it('CAP-4 passes over what it does not know, and never runs a pattern', () => {
    const schema = { pattern: '^(a+)+$', format: 'email', $ref: '#/$defs/x', type: 'uuid', items: 'x', anyOf: 5 }
    expect(checkAgainstSchema(`${'a'.repeat(40)}!`, schema)).toEqual([])
  })

  it('CAP-4 never throws, whatever the schema and the value', () => {
    const words = ['type', 'enum', 'const', 'items', 'properties', 'required', 'anyOf', 'oneOf', 'allOf', 'minimum']
    const value = fc.jsonValue({ maxDepth: 3 })
    const { schema } = fc.letrec<{ schema: Json; part: Json }>((tie) => ({
      schema: fc.dictionary(fc.constantFrom(...words, 'additionalProperties', 'maxLength', 'minItems'), tie('part'), {
        maxKeys: 4,
      }),
      part: fc.oneof(
        { maxDepth: 3 },
        value as fc.Arbitrary<Json>,
        fc.array(tie('schema'), { maxLength: 3 }),
        tie('schema'),
      ),
    }))
    fc.assert(
      fc.property(schema, value, (given, json) => {
        expect(checkAgainstSchema(json as Json, given as Schema).length).toBeLessThanOrEqual(5)
      }),
    )
  })
})
