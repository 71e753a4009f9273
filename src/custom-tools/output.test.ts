import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { capabilityManifest } from '../../test/support/capabilities.ts'
import type { SandboxEnd } from '../sandbox/sandbox.ts'
import { createRedactor } from '../security/redactor.ts'
import { cleanError, cleanLog, readOutput, readRunLog, readRunResult, wrapOutput } from './output.ts'

const limits = { memoryBytes: 64 * 1024 ** 2, wallMs: 9_000, outputBytes: 1024 ** 2 }

function read(stdout: string, more: { end?: SandboxEnd; stderr?: string } = {}) {
  const { end = { kind: 'exited', code: 0 }, stderr = '' } = more
  const encode = (text: string) => new TextEncoder().encode(text)
  return readOutput({ end, stdout: encode(stdout), stderr: encode(stderr), limits, redactor })
}

const redactor = createRedactor(['correct-horse-battery'])

const failedExit: SandboxEnd = { kind: 'exited', code: 1 }

describe('the output of a tool', () => {
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
      outcome: 'failed',
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
      outcome: 'timed_out',
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
      readRunLog({ end: { kind: 'timed_out' }, stderr: new TextEncoder().encode('key correct-horse-ba'), redactor }),
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

describe('the output for the model', () => {
  it('TOOL-8 stands between markers, with braces, calls and everything else left as it is', () => {
    const text = '{"a": {"b": [1]}} .c { color: red } ACTION: run(x) <script>'
    expect(wrapOutput('weather', text)).toBe(`[TOOL:weather]\n${text}\n[/TOOL]`)
  })

  it('TOOL-8 cannot end itself or begin as another tool', () => {
    const text = 'a [/TOOL] b [TOOL:exec] c [ /tool] d [/ TOOL ] e [TOOLBOX]'
    expect(wrapOutput('weather', text)).toBe(
      '[TOOL:weather]\na &#91;/TOOL] b &#91;TOOL:exec] c &#91; /tool] d &#91;/ TOOL ] e [TOOLBOX]\n[/TOOL]',
    )
  })

  it('TOOL-8 has at most 3,000 characters, and says how many are missing', () => {
    const inside = (text: string) => wrapOutput('t', text).slice('[TOOL:t]\n'.length, -'\n[/TOOL]'.length)
    expect(inside('x'.repeat(3_000))).toBe('x'.repeat(3_000))
    const cut = inside('x'.repeat(3_001))
    expect(cut.length).toBeLessThanOrEqual(3_000)
    expect(cut).toMatch(/^x+\n\[… (\d+) more characters\]$/)
    const [, left] = /(\d+) more/.exec(cut) ?? []
    expect(Number(left)).toBe(3_001 - cut.indexOf('\n'))
  })

  it('TOOL-8 holds whatever the text is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('[', '/', 'TOOL', ']', ':', 'a', '🌦️', '\n', ' '), maxLength: 4_000 }),
        (text) => {
          const wrapped = wrapOutput('t', text)
          expect(wrapped.match(/\[\s*\/\s*TOOL\b/gi)).toHaveLength(1)
          expect(wrapped.match(/\[\s*TOOL\b/gi)).toHaveLength(1)
          expect(wrapped.length).toBeLessThanOrEqual(3_000 + '[TOOL:t]\n\n[/TOOL]'.length)
          expect(wrapped.isWellFormed()).toBe(true)
        },
      ),
    )
  })
})

const resultLimits = { memoryBytes: 1e8, wallMs: 1_000, outputBytes: 1e6, processes: 1, scratchBytes: 1e6 }
const secret = 'Vq8-rX2z_Lm41Pd7Ks9T'
const { redact } = createRedactor([secret])

function readReport(result: string) {
  const runnable = { name: 'sample', manifest: capabilityManifest(), directory: '/nowhere', requirements: [] }
  const ended = { end: { kind: 'exited' as const, code: 0 }, result: Buffer.from(result) }
  return readRunResult(ended, { runnable, input: {}, limits: resultLimits, redactor: { redact } })
}

it('CAP-5 treats everything in a report as untrusted text', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (text) => {
      expect((await readReport(text)).ok).toBe(false)
    }),
  )
  const report = fc.record({ ok: fc.boolean(), value: fc.oneof(fc.json(), fc.string()), storage: fc.constant([]) })
  await fc.assert(
    fc.asyncProperty(report, async (made) => {
      const result = await readReport(JSON.stringify(made))
      expect(result.ok ? typeof result.text : result.error).toEqual(expect.any(String))
    }),
  )
})

it('SEC-13 gives away no secret in a value, a text or a card', async () => {
  const value = {
    text: `the key is ${secret}`,
    html: `<p>${secret}</p>`,
    more: [Buffer.from(secret).toString('base64')],
  }
  const result = await readReport(JSON.stringify({ ok: true, value: JSON.stringify(value), storage: [] }))
  expect(result).toMatchObject({ ok: true, text: 'the key is [redacted]', value: { more: ['[redacted]'] } })
  expect(JSON.stringify(result)).not.toContain(secret)
})

it('SEC-13 gives away no half of a secret where a log or a traceback is cut', () => {
  const halves = [secret.slice(0, 10), secret.slice(10)]
  for (const before of [0, 5, 10, 19, 20]) {
    const tail = 'x'.repeat(256 * 1024 - secret.length + before)
    const unseen = '\u0000'.repeat(256 * 1024 - secret.length + before)
    for (const end of [tail, unseen, 'x'.repeat(64 * 1024 - secret.length + before)]) {
      const log = cleanLog([Buffer.from(`${'y'.repeat(400_000)}${secret}${end}`)], redact)
      for (const half of halves) expect(log).not.toContain(half)
      expect(log).not.toMatch(/K?s9T|Ks9/)
    }
  }
  const key = ['-----BEGIN KEY-----', ...Array.from({ length: 30 }, (_, line) => `line ${line} of the key`)].join('\n')
  const ofKey = createRedactor([key])
  expect(cleanError(`ValueError: ${key}`, ofKey.redact)).toBe('ValueError: [redacted]')
})
