import { describe, expect, it } from 'vitest'
import { builderPrompt } from '../capabilities.ts'
import type { Build } from './builds.ts'
import { firstMessage } from './create-builds.ts'

const build: Build = {
  id: 'b1',
  userId: 'max',
  capabilityId: 'c1',
  name: 'weather_lookup',
  kind: 'build',
  state: 'running',
  isWaiting: false,
  request: {
    description: 'Look up the weather of a city.',
    inputSchema: { type: 'object' },
    failure: null,
    seen: { untrusted: false, private: false },
  },
  sessionId: null,
  error: null,
  createdAt: 0,
  endedAt: null,
}

describe('the first message to the Builder', () => {
  it('CAP-3 describes the tool to build', () => {
    expect(firstMessage(build)).toMatchInlineSnapshot(`
      "Build the capability weather_lookup.

      Purpose:
      Look up the weather of a city.

      Its input, as JSON Schema:
      {"type":"object"}"
    `)
  })

  it('CAP-8 describes the failure to repair', () => {
    const failure = { input: { city: '' }, error: 'ValueError: no city' }
    expect(firstMessage({ ...build, kind: 'repair', request: { ...build.request, failure } })).toMatchInlineSnapshot(`
      "Repair the capability weather_lookup. Its files are in /capability.

      Purpose:
      Look up the weather of a city.

      Its input, as JSON Schema:
      {"type":"object"}

      It failed with this input:
      {"city":""}

      Its error:
      ValueError: no city

      Make this input one of the examples, with what should come of it, and keep the others."
    `)
  })

  it('CAP-3 every file, every key and every tool that it has', () => {
    const words = ['main.py', 'main.js', 'manifest.json', 'examples.json', 'requirements.txt', 'RUN.md']
    const keys = [
      'input_schema',
      'hosts',
      'secrets',
      'storage',
      'timeout_seconds',
      'memory_mb',
      'tags',
      'asked_as',
      'runtime',
    ]
    const checks = ['equals', 'contains', 'matches', 'schema']
    const tools = ['request_secret', 'ask_user', 'report_progress', 'run_code', 'network: true']
    for (const word of [...words, ...keys, ...checks, ...tools]) expect(builderPrompt).toContain(word)
  })
})
