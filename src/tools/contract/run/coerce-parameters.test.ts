import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../protocol/json.ts'
import type { ParameterType, ToolParameter } from '../manifest/manifest.ts'
import { coerceParameters } from './coerce-parameters.ts'
import { parameterSchema } from './parameter-schema.ts'

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
