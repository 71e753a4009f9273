import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../test/support/any-text.ts'
import { manifestOf } from '../../test/support/contract-tools.ts'
import type { Json } from '../protocol/messages.ts'
import { readBuiltManifest, readManifest, type ToolManifest } from './manifest.ts'

function read(more: Record<string, Json>, without: string[] = []) {
  const json = manifestOf('weather', more)
  for (const key of without) delete json[key]
  return readManifest(json)
}

function manifest(more: Record<string, Json>): ToolManifest & { notes: string[] } {
  const reading = read(more)
  if (!reading.ok) throw new Error(reading.problem)
  return { ...reading.manifest, notes: reading.notes }
}

function problem(more: Record<string, Json>, without: string[] = []): string {
  const reading = read(more, without)
  return reading.ok ? 'none' : reading.problem
}

describe('reading a manifest', () => {
  it('TOOL-1 fills in what the contract leaves out', () => {
    expect(manifest({ sandbox: null })).toMatchObject({
      name: 'weather',
      trigger: { type: 'on_demand' },
      parameters: [],
      configuration: [],
      output: { synthesize: true, ephemeral: false, label: 'untrusted', card: { isEnabled: false } },
      network: { mode: 'bridge', hosts: [] },
      limits: { memoryBytes: 256 * 1024 ** 2, timeoutMs: 9_000, isWritable: false },
      costBudget: null,
      input: 'argument',
      notifies: true,
      notes: [],
    })
  })

  it('TOOL-1 takes what is published: other returns, either form of settings, upper-case keys, unknown keys', () => {
    const read = manifest({
      returns: { results: { type: 'array' }, _meta: { type: 'object' } },
      config_schema: [
        { key: 'API_KEY', secret: true, required: true },
        { name: 'Endpoint', default: 'https://api.example.com/v1' },
      ],
      tips: ['a tip'],
      version: 1,
      output: null,
    })
    expect(read.configuration).toEqual([
      { key: 'API_KEY', description: '', isSecret: true, isRequired: true, default: null },
      { key: 'Endpoint', description: '', isSecret: false, isRequired: false, default: 'https://api.example.com/v1' },
    ])
    expect(read.network.hosts).toEqual(['api.example.com'])
    expect(read.written.tips).toEqual(['a tip'])
    expect(read.version).toBe('1')
    expect(manifest({ config_schema: {} }).configuration).toEqual([])
    expect(manifest({ config_schema: { key: {} } }).configuration).toHaveLength(1)
  })

  it('TOOL-1 takes parameters as an object and as a list, of every type', () => {
    const types = ['string', 'integer', 'float', 'number', 'boolean', 'array', 'object']
    const named = Object.fromEntries(types.map((type) => [type, { type, required: true }]))
    const listed = types.map((type) => ({ name: type, type, required: true }))
    const expected = types.map((type) => ({ name: type, type, description: '', isRequired: true }))
    expect(manifest({ parameters: named }).parameters).toEqual(expected)
    expect(manifest({ parameters: listed }).parameters).toEqual(expected)
  })

  it.each([
    ['🌦️', '🌦️', 0],
    ['fa-brands fa-stack-overflow', 'fa-brands fa-stack-overflow', 0],
    ['https://example.com/icon.png', null, 1],
    ['data:image/png;base64,AAAA', null, 1],
    [{ url: 'x' }, null, 1],
    [null, null, 0],
  ])('TOOL-1 shows an icon that is an emoji or a name, and loads none: %j', (icon, shown, notes) => {
    const read = manifest({ icon })
    expect(read.icon).toBe(shown)
    expect(read.notes).toHaveLength(notes)
  })

  it.each<[string, Record<string, Json>, string[], string]>([
    ['a missing name', {}, ['name'], 'manifest.json: name: expected a text, found nothing'],
    ['a missing trigger', {}, ['trigger'], 'trigger: expected an object, found nothing'],
    ['missing returns', {}, ['returns'], 'returns: expected a value, found nothing'],
    [
      'a trigger that is none',
      { trigger: { type: 'hourly' } },
      [],
      'trigger.type: expected one of "on_demand", "cron", "webhook", found "hourly"',
    ],
    [
      'a cron without its words',
      { trigger: { type: 'cron' } },
      [],
      'trigger.schedule: expected a schedule such as "*/30" or "0 7 * * 1-5", found nothing; trigger.prompt: expected the words',
    ],
    [
      'a type that is none',
      { parameters: { city: { type: 'text' } } },
      [],
      'parameters.city.type: expected one of "string", "integer", "float", "number", "boolean", "array", "object", found "text"',
    ],
    [
      'a parameter that is none',
      { parameters: { city: 'string' } },
      [],
      'parameters.city: expected an object, found "string"',
    ],
    [
      'a nameless parameter',
      { parameters: [{ type: 'string' }] },
      [],
      'parameters[0]: expected a name of letters, digits, "_", "-" and ".", found nothing',
    ],
    [
      'a parameter twice',
      { parameters: [{ name: 'a' }, { name: 'a' }] },
      [],
      'parameters[1]: expected each name once, found "a"',
    ],
    ['a kept parameter', { parameters: { _state: {} } }, [], 'parameters._state: expected a name that is not kept'],
    ['a key that is kept for the machine', { parameters: { __class: {} } }, [], 'parameters.__class: expected a name'],
    [
      'a memory that is none',
      { sandbox: { memory: 'much' } },
      [],
      'sandbox.memory: expected a size such as "256m", at least "4m", found "much"',
    ],
    [
      'a network that is none',
      { sandbox: { network: 'wifi' } },
      [],
      'sandbox.network: expected one of "none", "bridge", "host", found "wifi"',
    ],
    [
      'a host that is none',
      { sandbox: { hosts: ['https://example.com/x'] } },
      [],
      'sandbox.hosts[0]: expected a host such as "api.example.com", found "https://example.com/x"',
    ],
    [
      'settings that are none',
      { config_schema: 'none' },
      [],
      'config_schema: expected an object or a list, found "none"',
    ],
    [
      'a time that is none',
      { constraints: { timeout_seconds: '9' } },
      [],
      'constraints.timeout_seconds: expected a number, found "9"',
    ],
    ['an empty description', { description: ' ' }, [], 'description: expected at least 1 characters, found ""'],
    ['a name that is no slug', { name: '../etc' }, [], 'name: expected up to 64 small letters'],
  ])('TOOL-1 says where, what was found and what is expected: %s', (_, more, without, expected) => {
    expect(problem(more, without)).toContain(expected)
  })

  it.each(['find_tools', 'web_search', 'exec', 'cap_add', 'mcp_calendar'])(
    'SEC-14 keeps the name %s for Familiar',
    (name) => {
      const reading = readManifest(manifestOf(name))
      expect(reading.ok ? '' : reading.problem).toContain('one that Familiar does not keep for itself')
    },
  )

  it.each<[string, Record<string, Json>, string]>([
    [
      'an override in the description',
      { description: 'Tells \u202ethe weather' },
      'description: expected characters that can be seen, found U+202E',
    ],
    [
      'a zero-width space in a parameter',
      { parameters: { city: { description: 'a\u200bb' } } },
      'parameters.city.description',
    ],
    [
      'tags in a list of parameters',
      { parameters: [{ name: 'city', description: 'x\u{e0049}' }] },
      'parameters[0].description',
    ],
    ['a hidden default', { parameters: { city: { default: 'a\u2066b' } } }, 'parameters.city.default'],
    ['variation selectors that carry bytes', { description: 'x\u{e0100}' }, 'found U+E0100'],
    ['an escape in a title', { output: { card: { title: '\u001b[31m' } } }, 'output.card.title'],
    ['a hidden prompt', { trigger: { type: 'webhook', prompt: 'a\u00adb' } }, 'trigger.prompt'],
    ['a hidden setting', { config_schema: { key: { description: '\u061c' } } }, 'config_schema.key.description'],
  ])('SEC-14 refuses %s', (_, more, expected) => {
    expect(problem(more)).toContain(expected)
  })

  it('SEC-14 takes emoji that are joined, and languages that are not English', () => {
    const description = 'Rezepte 👨‍🍳 für 🏴󠁧󠁢󠁳󠁣󠁴󠁿 und ❤️\n\tالطقس في مالطا'
    expect(manifest({ description }).description).toBe(description)
  })

  it('TOOL-4 reads sizes and times, and holds them to what a tool may have', () => {
    expect(manifest({ sandbox: { memory: '64m' } }).limits.memoryBytes).toBe(64 * 1024 ** 2)
    expect(manifest({ sandbox: { memory: '1G' } }).limits.memoryBytes).toBe(1024 ** 3)
    const greedy = manifest({ sandbox: { memory: '64g' }, constraints: { timeout_seconds: 86_400 } })
    expect(greedy.limits).toMatchObject({ memoryBytes: 2 * 1024 ** 3, timeoutMs: 300_000 })
    expect(greedy.notes).toHaveLength(2)
    expect(manifest({ constraints: { timeout_seconds: 0.5 } }).limits.timeoutMs).toBe(500)
  })

  it('SEC-6 trusts the output only of a tool without outside input', () => {
    const output = { label: 'internal' }
    expect(manifest({ output }).output.label).toBe('internal')
    expect(manifest({ output: {} }).output.label).toBe('untrusted')
    expect(manifest({ output, sandbox: { network: 'bridge' } }).output.label).toBe('untrusted')
    expect(manifest({ output, sandbox: { network: 'host' } }).output.label).toBe('untrusted')
    expect(manifest({ output, trigger: { type: 'webhook' } }).output.label).toBe('untrusted')
  })

  it.each(['hourly', '* * *', '61 * * * *', '@daily', ''])('TOOL-7 takes no schedule that is none: %j', (schedule) => {
    expect(problem({ trigger: { type: 'cron', schedule, prompt: 'Look' } })).toContain(
      'trigger.schedule: expected a schedule such as "*/30" or "0 7 * * 1-5", found',
    )
  })

  it('TOOL-1 never throws, whatever JSON it is given', () => {
    const value = fc.jsonValue({ stringUnit: 'binary', depthSize: 'medium' })
    const near = fc.record(
      {
        name: fc.oneof(fc.constant('weather'), value),
        description: fc.oneof(anyText, value),
        trigger: fc.oneof(fc.constant({ type: 'cron', schedule: '*/5', prompt: 'x' }), value),
        parameters: fc.oneof(
          fc.dictionary(anyText, fc.oneof(fc.constant({ type: 'string' }), value)),
          fc.array(value),
          value,
        ),
        returns: value,
        config_schema: fc.oneof(fc.dictionary(anyText, value), fc.array(value), value),
        output: fc.oneof(fc.record({ card: value, label: value }), value),
        constraints: fc.oneof(fc.record({ timeout_seconds: value }), value),
        sandbox: fc.oneof(
          fc.record({ memory: fc.oneof(anyText, value), hosts: fc.array(fc.oneof(anyText, value)) }),
          value,
        ),
        icon: value,
        input: value,
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(value, near), (json) => {
        const reading = readManifest(json as Json)
        if (!reading.ok) expect(reading.problem).toMatch(/^manifest\.json: /)
      }),
      { numRuns: 1_000 },
    )
    const deep = JSON.parse(`{"parameters": ${'['.repeat(5_000)}${']'.repeat(5_000)}}`)
    expect(readManifest(deep).ok).toBe(false)
  })
})

const whole: Record<string, Json> = {
  name: 'weather_lookup',
  description: 'Tells the weather of a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const readBuilt = (more: Record<string, Json> = {}) => readBuiltManifest(JSON.stringify({ ...whole, ...more }))
const builtProblem = (more: Record<string, Json>) => {
  const reading = readBuilt(more)
  return reading.ok ? '' : reading.problems.join(' ')
}

describe('readManifest', () => {
  it('CAP-4 fills in what is usual', () => {
    expect(readBuilt()).toEqual({
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
    const reading = readBuilt({
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
    expect(builtProblem(more)).toContain(`manifest.json: ${expected}`)
  })

  it.each(['exec', 'web_search', 'find_tools', 'cap_x', 'mcp_x'])('SEC-14 keeps the name %s for Familiar', (name) => {
    expect(builtProblem({ name })).toContain('name: expected a name that Familiar does not keep for itself')
  })

  it.each<[string, Record<string, Json>]>([
    ['the description', { description: 'Tells \u202ethe weather' }],
    ['the schema', { input_schema: { type: 'object', properties: { a: { description: 'x\u200by' } } } }],
    ['a key', { 'a\u2066': 1 }],
    ['a way to ask', { asked_as: ['Is it \u202ecold?'] }],
    ['a tag', { tags: ['x\u{e0049}'] }],
  ])('SEC-14 refuses a hidden character in %s', (_, more) => {
    expect(builtProblem(more)).toMatch(/expected characters that can be seen, found U\+/)
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
        const reading = readBuiltManifest(written)
        if (!reading.ok) for (const line of reading.problems) expect(line).toMatch(/^manifest\.json: /)
      }),
      { numRuns: 1_000 },
    )
    expect(readBuiltManifest(`${'['.repeat(5_000)}${']'.repeat(5_000)}`).ok).toBe(false)
  })
})
