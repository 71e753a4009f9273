import fc from 'fast-check'
import { expect, it } from 'vitest'
import { capabilityManifest } from '../../../../test/support/capabilities.ts'
import { createRedactor } from '../../../secrets/redactor.ts'
import { cleanError, cleanLog } from './clean-output.ts'
import { readResult } from './read-result.ts'

const limits = { memoryBytes: 1e8, wallMs: 1_000, outputBytes: 1e6, processes: 1, scratchBytes: 1e6 }
const secret = 'Vq8-rX2z_Lm41Pd7Ks9T'
const { redact } = createRedactor([secret])

function read(result: string) {
  const runnable = { name: 'sample', manifest: capabilityManifest(), directory: '/nowhere', requirements: [] }
  const ended = { end: { kind: 'exited' as const, code: 0 }, result: Buffer.from(result) }
  return readResult(ended, { runnable, input: {}, limits, redactor: { redact } })
}

it('CAP-5 takes whatever stands in a report for foreign text', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (text) => {
      expect((await read(text)).ok).toBe(false)
    }),
  )
  const report = fc.record({ ok: fc.boolean(), value: fc.oneof(fc.json(), fc.string()), storage: fc.constant([]) })
  await fc.assert(
    fc.asyncProperty(report, async (made) => {
      const result = await read(JSON.stringify(made))
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
  const result = await read(JSON.stringify({ ok: true, value: JSON.stringify(value), storage: [] }))
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
