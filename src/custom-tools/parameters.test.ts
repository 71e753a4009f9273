import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../protocol/messages.ts'
import type { ParameterType, ToolParameter } from './manifest.ts'
import { checkAgainstSchema, coerceParameters, parameterSchema } from './parameters.ts'

function parameter(type: ParameterType, more: Partial<ToolParameter> = {}): ToolParameter {
  return { name: 'value', type, description: '', isRequired: false, ...more }
}

function coerce(type: ParameterType, value: Json) {
  const coerced = coerceParameters([parameter(type)], { value })
  return coerced.ok ? coerced.params.value : coerced.problem
}

describe('parameters', () => {
  it.each<[ParameterType, Json, Json]>([
    ['string', 'a', 'a'],
    ['string', 5, '5'],
    ['string', true, 'true'],
    ['string', [1], 'value: expected a text, found a list'],
    ['integer', 5, 5],
    ['integer', '5', 5],
    ['integer', ' 5.0 ', 5],
    ['integer', 5.5, 'value: expected a whole number, found 5.5'],
    ['integer', 'five', 'value: expected a whole number, found "five"'],
    ['integer', '0x10', 'value: expected a whole number, found "0x10"'],
    ['integer', '99999999999999999999', 'value: expected a whole number, found "99999999999999999999"'],
    ['float', '2.5', 2.5],
    ['float', '1e3', 1000],
    ['number', '.5', 0.5],
    ['number', 'Infinity', 'value: expected a number, found "Infinity"'],
    ['number', '', 'value: expected a number, found ""'],
    ['boolean', 'Yes', true],
    ['boolean', 'false', false],
    ['boolean', 0, false],
    ['boolean', 'maybe', 'value: expected true or false, found "maybe"'],
    ['array', [1, 2], [1, 2]],
    ['array', '["a", "b"]', ['a', 'b']],
    ['array', 'a', ['a']],
    ['object', { a: 1 }, { a: 1 }],
    ['object', '{"a": 1}', { a: 1 }],
    ['object', '[1]', 'value: expected an object, found "[1]"'],
  ])('TOOL-3 coerces to %s: %j', (type, value, expected) => {
    expect(coerce(type, value)).toEqual(expected)
  })

  it('TOOL-3 fills defaults, leaves out what is unknown with a note, and names all that is missing', () => {
    const parameters = [
      parameter('string', { name: 'city', isRequired: true }),
      parameter('integer', { name: 'days', default: '3' }),
      parameter('string', { name: 'unit', isRequired: true }),
      parameter('string', { name: 'note' }),
    ]
    expect(coerceParameters(parameters, { city: 'Valletta', unit: 'C', note: null, extra: 1, other: 2 })).toEqual({
      ok: true,
      params: { city: 'Valletta', days: 3, unit: 'C' },
      notes: ['Left out, since it does not know them: "extra", "other".'],
    })
    expect(coerceParameters(parameters, { days: 'few' })).toEqual({
      ok: false,
      problem: 'city is missing; days: expected a whole number, found "few"; unit is missing',
    })
  })

  it('TOOL-3 holds to the choices that there are', () => {
    const sort = parameter('string', { name: 'sort', choices: ['votes', 'new'] })
    expect(coerceParameters([sort], { sort: 'votes' })).toMatchObject({ ok: true })
    expect(coerceParameters([sort], { sort: 'old' })).toMatchObject({
      problem: 'sort: expected one of "votes", "new", found "old"',
    })
  })

  it('TOOL-3 takes nothing, and an object that was encoded twice', () => {
    expect(coerceParameters([], null)).toMatchObject({ ok: true, params: {} })
    expect(coerceParameters([], '')).toMatchObject({ ok: true, params: {} })
    expect(coerceParameters([parameter('integer')], '{"value": "7"}')).toMatchObject({ params: { value: 7 } })
    expect(coerceParameters([], [1])).toEqual({
      ok: false,
      problem: 'Parameters must be a JSON object, but a list came',
    })
  })

  it('TOOL-3 never throws, and gives each value its type', () => {
    const types: ParameterType[] = ['string', 'integer', 'float', 'boolean', 'array', 'object']
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.jsonValue({ stringUnit: 'binary' }), (type, given) => {
        const value = coerceParameters([parameter(type)], { value: given as Json })
        if (!value.ok || value.params.value === undefined) return
        const found = value.params.value
        const kind = Array.isArray(found)
          ? 'array'
          : Number.isInteger(found) && type === 'integer'
            ? 'integer'
            : typeof found
        expect(kind).toBe(type === 'float' ? 'number' : type)
      }),
    )
  })

  it('TOOL-3 gives the model a schema of them', () => {
    const parameters = [
      parameter('string', { name: 'city', description: 'Where', isRequired: true }),
      parameter('float', { name: 'lat', default: 1.5 }),
      parameter('array', { name: 'tags' }),
      parameter('string', { name: 'sort', choices: ['a'], isRequired: true, default: 'a' }),
    ]
    expect(parameterSchema(parameters)).toEqual({
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Where' },
        lat: { type: 'number', default: 1.5 },
        tags: { type: 'array', items: { type: 'string' } },
        sort: { type: 'string', enum: ['a'], default: 'a' },
      },
      required: ['city'],
    })
    expect(parameterSchema([])).toEqual({ type: 'object', properties: {} })
  })
})

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
