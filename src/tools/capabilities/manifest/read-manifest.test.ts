import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../../test/support/any-text.ts'
import type { Json } from '../../../protocol/json.ts'
import { readManifest } from './read-manifest.ts'

const whole: Record<string, Json> = {
  name: 'weather_lookup',
  description: 'Tells the weather of a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const read = (more: Record<string, Json> = {}) => readManifest(JSON.stringify({ ...whole, ...more }))
const problem = (more: Record<string, Json>) => {
  const reading = read(more)
  return reading.ok ? '' : reading.problems.join(' ')
}

describe('readManifest', () => {
  it('CAP-4 fills in what is usual', () => {
    expect(read()).toEqual({
      ok: true,
      manifest: {
        name: 'weather_lookup',
        description: 'Tells the weather of a city',
        runtime: 'python',
        inputSchema: whole.input_schema,
        tags: [],
        askedAs: [],
        hosts: [],
        secrets: [],
        storage: false,
        timeoutMs: 30_000,
        memoryBytes: 256 * 1024 ** 2,
      },
    })
  })

  it('CAP-4 reads what is declared, and passes over what it does not know', () => {
    const reading = read({
      runtime: 'node',
      tags: ['weather', 'weather'],
      asked_as: [' Do I need an umbrella? ', 'Do I need an umbrella?', 'Is it cold out?'],
      hosts: ['API.example.com', '*.example.org:8443'],
      secrets: ['API_KEY', { name: 'token', description: 'of the account' }],
      storage: true,
      timeout_seconds: 0.5 + 1,
      memory_mb: 64,
      version: 'any',
      created_at: 7,
      author: { name: 'x' },
    })
    expect(reading.ok && reading.manifest).toMatchObject({
      runtime: 'node',
      tags: ['weather'],
      askedAs: ['Do I need an umbrella?', 'Is it cold out?'],
      hosts: ['api.example.com', '*.example.org:8443'],
      secrets: [
        { name: 'API_KEY', description: '' },
        { name: 'token', description: 'of the account' },
      ],
      storage: true,
      timeoutMs: 1_500,
      memoryBytes: 64 * 1024 ** 2,
    })
  })

  it.each<[string, Record<string, Json>, string]>([
    ['no name', { name: null }, 'name: expected a text, found null'],
    ['a name with a dash', { name: 'weather-lookup' }, 'name: expected 2 to 48 small letters'],
    ['a name that leads elsewhere', { name: '../etc' }, 'name: expected 2 to 48 small letters'],
    ['a name that is too long', { name: 'x'.repeat(49) }, 'name: expected 2 to 48 small letters'],
    ['no description', { description: ' ' }, 'description: expected at least 1 characters'],
    ['a runtime that is none', { runtime: 'ruby' }, 'runtime: expected one of "python", "node", found "ruby"'],
    ['no schema', { input_schema: null }, 'input_schema: expected an object, found null'],
    ['a schema of a list', { input_schema: { type: 'array' } }, 'input_schema.type: expected "object", found "array"'],
    [
      'a large schema',
      { input_schema: { type: 'object', x: 'x'.repeat(20_000) } },
      'input_schema: expected at most 16',
    ],
    ['a long way to ask', { asked_as: ['x'.repeat(121)] }, 'asked_as[0]: expected at most 120 characters'],
    ['an empty way to ask', { asked_as: ['Is it cold?', ' '] }, 'asked_as[1]: expected at least 1 characters'],
    ['many ways to ask', { asked_as: Array.from('123456789') }, 'asked_as: expected at most 8 entries'],
    ['a way to ask that is none', { asked_as: 'Is it cold?' }, 'asked_as: expected a list, found "Is it cold?"'],
    ['an address for a host', { hosts: ['https://a.example.com/x'] }, 'hosts[0]: expected a host such as'],
    ['every host', { hosts: ['*'] }, 'hosts[0]: expected a host such as'],
    ['a secret that is none', { secrets: ['my key'] }, 'secrets[0]: expected up to 64 letters'],
    ['a secret twice', { secrets: ['KEY', { name: 'KEY' }] }, 'secrets: expected each name once, found "KEY"'],
    ['much time', { timeout_seconds: 181 }, 'timeout_seconds: expected at most 180, found 181'],
    ['much memory', { memory_mb: 4_096 }, 'memory_mb: expected at most 1024, found 4096'],
  ])('CAP-4 says where, what was found and what is expected: %s', (_, more, expected) => {
    expect(problem(more)).toContain(`manifest.json: ${expected}`)
  })

  it.each(['exec', 'web_search', 'find_tools', 'cap_x', 'mcp_x'])('SEC-14 keeps the name %s for Familiar', (name) => {
    expect(problem({ name })).toContain('name: expected a name that Familiar does not keep for itself')
  })

  it.each<[string, Record<string, Json>]>([
    ['the description', { description: 'Tells \u202ethe weather' }],
    ['the schema', { input_schema: { type: 'object', properties: { a: { description: 'x\u200by' } } } }],
    ['a key', { 'a\u2066': 1 }],
    ['a way to ask', { asked_as: ['Is it \u202ecold?'] }],
    ['a tag', { tags: ['x\u{e0049}'] }],
  ])('SEC-14 refuses a hidden character in %s', (_, more) => {
    expect(problem(more)).toMatch(/expected characters that can be seen, found U\+/)
  })

  it('CAP-4 never throws, whatever the text', () => {
    const value = fc.jsonValue({ stringUnit: 'binary', depthSize: 'medium' })
    const near = fc.record(
      {
        name: fc.oneof(fc.constant('weather'), value),
        description: fc.oneof(anyText, value),
        runtime: fc.oneof(fc.constantFrom('python', 'node'), value),
        input_schema: fc.oneof(fc.constant({ type: 'object' }), value),
        hosts: fc.oneof(fc.array(fc.oneof(anyText, fc.domain())), value),
        secrets: fc.oneof(fc.array(fc.oneof(fc.constantFrom('A', { name: 'B' }), value)), value),
        timeout_seconds: fc.oneof(fc.double(), value),
        memory_mb: fc.oneof(fc.integer(), value),
        tags: value,
        asked_as: fc.oneof(fc.array(anyText), value),
      },
      { requiredKeys: [] },
    )
    const text = fc.oneof(
      anyText,
      fc.oneof(value, near).map((json) => JSON.stringify(json)),
    )
    fc.assert(
      fc.property(text, (written) => {
        const reading = readManifest(written)
        if (!reading.ok) for (const line of reading.problems) expect(line).toMatch(/^manifest\.json: /)
      }),
      { numRuns: 1_000 },
    )
    expect(readManifest(`${'['.repeat(5_000)}${']'.repeat(5_000)}`).ok).toBe(false)
  })
})
