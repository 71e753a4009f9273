import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SandboxEnd } from '../../../sandbox/sandbox.ts'
import { createRedactor } from '../../../secrets/redactor.ts'
import { readLog, readOutput } from './read-output.ts'

const limits = { memoryBytes: 64 * 1024 ** 2, wallMs: 9_000, outputBytes: 1024 ** 2 }

function read(stdout: string, more: { end?: SandboxEnd; stderr?: string } = {}) {
  const { end = { kind: 'exited', code: 0 }, stderr = '' } = more
  const encode = (text: string) => new TextEncoder().encode(text)
  return readOutput({ end, stdout: encode(stdout), stderr: encode(stderr), limits, redactor })
}

const redactor = createRedactor(['correct-horse-battery'])

const failedExit: SandboxEnd = { kind: 'exited', code: 1 }

describe('what a tool printed', () => {
  it('TOOL-2 reads the keys of the contract and keeps the others aside', () => {
    const printed = {
      text: 'Sunny',
      html: '<b>Sunny</b>',
      title: 'Today',
      budget_remaining: 12,
      results: [1],
      _meta: { ms: 3 },
    }
    expect(read(JSON.stringify(printed))).toEqual({
      text: 'Sunny',
      html: '<b>Sunny</b>',
      title: 'Today',
      error: null,
      timedOut: false,
      isServiceFailure: false,
      budgetRemaining: 12,
      notify: undefined,
      state: undefined,
      extra: { results: [1], _meta: { ms: 3 } },
      notes: [],
    })
  })

  it('TOOL-2 takes null, nothing and what is no text for what they are', () => {
    expect(read('{"text": "a", "html": null, "title": null, "error": null}')).toMatchObject({
      text: 'a',
      html: null,
      error: null,
    })
    expect(read('{"text": "a", "error": ""}')).toMatchObject({ error: null })
    expect(read('{"text": {"a": 1}}').text).toBe('{"a":1}')
    expect(read('{"text": "a", "html": 5}')).toMatchObject({
      html: null,
      notes: ['html: expected a text, found 5; it is left out.'],
    })
    expect(read('{"text": "a", "budget_remaining": "7"}').budgetRemaining).toBe(7)
  })

  it('TOOL-2 tells fields of its own where there is no text', () => {
    expect(read('{"results": ["a"], "count": 1, "_meta": {"ms": 3}}').text).toBe('{"results":["a"],"count":1}')
    expect(read('"just a text"').text).toBe('just a text')
    expect(read('[1, 2]')).toMatchObject({ text: '[1,2]', error: null })
  })

  it('TOOL-2 shows an error whatever the exit code, and standard error alone', () => {
    expect(read('{"error": "no key"}').error).toBe('no key')
    expect(read('{"error": "no key"}', { end: failedExit, stderr: 'Traceback' }).error).toBe('no key')
    expect(read('{"error": {"code": 7}}').error).toBe('{"code":7}')
    expect(read('', { end: failedExit, stderr: 'cannot \u001b[31mreach\u001b[0m it\n' }).error).toBe('cannot reach it')
    expect(read('', { end: failedExit }).error).toBe('It printed nothing (exit code 1)')
    expect(read('{"text": "half done"}', { end: failedExit })).toMatchObject({
      text: 'half done',
      error: null,
      notes: ['It ended (exit code 1).'],
    })
    expect(read('{}', { end: failedExit, stderr: 'boom' }).error).toBe('boom')
    expect(read('{}', { end: { kind: 'killed', signal: 'SIGSEGV' } }).error).toBe('It failed (ended by SIGSEGV)')
  })

  it('TOOL-2 is not disturbed by a log on standard error', () => {
    expect(read('{"text": "Sunny"}', { stderr: 'WARN slow\n' })).toMatchObject({ text: 'Sunny', error: null })
  })

  it('TOOL-2 names what is no JSON, or nothing, and never takes half of one', () => {
    expect(read('Hello!').error).toBe('It printed no JSON but "Hello!"')
    expect(read(' \n').error).toBe('It printed nothing')
    expect(read('', { stderr: 'a reason' }).error).toBe('a reason')
    expect(read('{"text": "Sun').error).toContain('It printed no JSON but')
    expect(read('{"text": "a"}\n{"text": "b"}').error).toContain('It printed no JSON but')
    const whole = JSON.stringify({ text: 'x'.repeat(2_000) })
    const end: SandboxEnd = { kind: 'output_too_large', stream: 'stdout' }
    expect(read(whole, { end })).toMatchObject({
      text: null,
      error: 'output too large: more than 1 MB on standard output',
    })
  })

  it('TOOL-2 reads 30 kB of valid JSON whole', () => {
    const text = 'a "quoted" line\n'.repeat(2_000)
    expect(read(JSON.stringify({ text })).text).toBe(text)
  })

  it('TOOL-4 says which limit ended it', () => {
    const printed = '{"text": "too late"}'
    expect(read(printed, { end: { kind: 'timed_out' } })).toMatchObject({
      text: null,
      error: 'timed out after 9 s',
      timedOut: true,
    })
    expect(read(printed, { end: { kind: 'out_of_memory' } }).error).toBe(
      'It ran out of memory: it may use 64 MB (sandbox.memory in its manifest)',
    )
  })

  it('TOOL-13 reads whether there is anything to tell, and what it asks to be given again', () => {
    expect(read('{"text": "a", "notify": false, "_state": {"seen": 3}}')).toMatchObject({
      notify: false,
      state: { seen: 3 },
      extra: {},
    })
    expect(read('{"text": "a", "notify": "no"}').notify).toBeUndefined()
  })

  it('SEC-13 takes secrets out before anything is cut, and their beginnings where it was cut off', () => {
    const secret = 'correct-horse-battery'
    const cutInTwo = [
      read('', { end: failedExit, stderr: `${secret}${'x'.repeat(990)}` }).error,
      read(JSON.stringify({ error: `${'x'.repeat(990)}${secret}` })).error,
      read(`${'x'.repeat(50)}${secret}`).error,
      read('', { end: failedExit, stderr: 'correct-\u001b[0mhorse-battery' }).error,
      read('correct-horse', { end: { kind: 'killed', signal: 'SIGKILL' } }).error,
      readLog({ end: { kind: 'timed_out' }, stderr: new TextEncoder().encode('key correct-horse-ba'), redactor }),
    ]
    for (const said of cutInTwo) expect(said).not.toMatch(/correct|horse|battery/)
  })

  it('TOOL-2 never throws, and either there is an error or something to tell', () => {
    const ends: SandboxEnd[] = [
      { kind: 'exited', code: 0 },
      failedExit,
      { kind: 'killed', signal: 'SIGKILL' },
      { kind: 'timed_out' },
    ]
    const printed = fc.oneof(
      fc.uint8Array(),
      fc.json().map((text) => new TextEncoder().encode(text)),
    )
    fc.assert(
      fc.property(printed, fc.uint8Array(), fc.constantFrom(...ends), (stdout, stderr, end) => {
        const result = readOutput({ end, stdout, stderr, limits, redactor })
        expect(result.error ?? result.text ?? result.html).not.toBeNull()
      }),
    )
    expect(read(`{"text": ${'['.repeat(9_000)}${']'.repeat(9_000)}}`).error).toBe(
      'It printed JSON that is nested too deeply',
    )
  })
})
