import { describe, expect, it } from 'vitest'
import { fieldsOf, formValue, readObject, typedFor } from './schema-fields.ts'

const schema = {
  type: 'object',
  properties: {
    city: { type: 'string', description: 'Where' },
    days: { type: 'integer', default: 3 },
    unit: { enum: ['C', 'F'] },
    exact: { type: 'boolean' },
    places: { type: 'array', items: { type: 'string' } },
  },
  required: ['city'],
}

describe('a form made from a schema', () => {
  const fields = fieldsOf(schema)

  it('PAGE-6 has a field of its own kind for each property', () => {
    expect(fields.map(({ name, kind, isRequired, initial }) => [name, kind, isRequired, initial])).toEqual([
      ['city', 'text', true, ''],
      ['days', 'integer', false, '3'],
      ['unit', 'choice', false, ''],
      ['exact', 'boolean', false, ''],
      ['places', 'json', false, ''],
    ])
    expect(fields[2]?.choices).toEqual(['"C"', '"F"'])
  })

  it('PAGE-6 reads typed values, and leaves out empty fields', () => {
    const typed = { city: 'Austin', unit: '"F"', exact: 'true', places: '["a"]' }
    const value = { city: 'Austin', days: 3, unit: 'F', exact: true, places: ['a'] }
    expect(formValue(fields, typed)).toEqual({ ok: true, value })
    expect(formValue(fields, typedFor(fields, value))).toEqual({ ok: true, value })
    expect(formValue(fields, { city: 'Austin', days: '' })).toEqual({ ok: true, value: { city: 'Austin' } })
  })

  it('PAGE-6 reports the problem of each field', () => {
    expect(formValue(fields, { days: '1.5', places: '[' })).toEqual({
      ok: false,
      problems: { city: 'Required', days: 'Must be a whole number', places: 'Invalid JSON' },
    })
    expect(formValue(fields, { city: 'x', days: 'many' })).toMatchObject({ problems: { days: 'Must be a number' } })
  })

  it('PAGE-6 takes no other JSON than an object in place of the form', () => {
    expect(readObject('')).toEqual({ ok: true, value: {} })
    expect(readObject('{"a": 1}')).toEqual({ ok: true, value: { a: 1 } })
    expect(readObject('[1]')).toMatchObject({ ok: false })
    expect(readObject('{')).toMatchObject({ ok: false })
  })

  it('makes nothing of a schema that describes no object', () => {
    for (const other of [null, true, 'x', [], {}, { type: 'object' }]) expect(fieldsOf(other)).toEqual([])
  })
})
