import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../../test/support/any-text.ts'
import { manifestOf } from '../../../../test/support/contract-tools.ts'
import type { Json } from '../../../protocol/json.ts'
import type { ToolManifest } from './manifest.ts'
import { readManifest } from './read-manifest.ts'

function read(more: Record<string, Json>, without: string[] = []) {
  const json = manifestOf('weather', more)
  for (const key of without) delete json[key]
  return readManifest(json, { folder: 'weather' })
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
    [
      'another name than the folder',
      { name: 'other' },
      [],
      'name: expected the name of its folder, "weather", found "other"',
    ],
    ['a name that is no slug', { name: '../etc' }, [], 'name: expected up to 64 small letters'],
  ])('TOOL-1 says where, what was found and what is expected: %s', (_, more, without, expected) => {
    expect(problem(more, without)).toContain(expected)
  })

  it.each(['find_tools', 'web_search', 'exec', 'cap_add', 'mcp_calendar'])(
    'SEC-14 keeps the name %s for Familiar',
    (name) => {
      const reading = readManifest(manifestOf(name), { folder: name })
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

  it('SEC-6 lets only a tool that nobody outside speaks through vouch for its words', () => {
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
        const reading = readManifest(json as Json, { folder: 'weather' })
        if (!reading.ok) expect(reading.problem).toMatch(/^manifest\.json: /)
      }),
      { numRuns: 1_000 },
    )
    const deep = JSON.parse(`{"parameters": ${'['.repeat(5_000)}${']'.repeat(5_000)}}`)
    expect(readManifest(deep, { folder: 'weather' }).ok).toBe(false)
  })
})
