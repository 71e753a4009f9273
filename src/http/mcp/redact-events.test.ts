import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createRedactor } from '../../security/redactor.ts'
import { redactEvents } from './familiar-mcp.ts'

const secret = 'hunter2-hunter2-hunter2'

async function cleaned(pieces: Uint8Array[]): Promise<string> {
  const redactor = createRedactor()
  redactor.add(secret)
  return new Response(ReadableStream.from(pieces).pipeThrough(redactEvents(redactor))).text()
}

it('SEC-13 a secret is removed wherever the stream is cut, and everything else stays', async () => {
  const event = (text: string) => `id: 1\ndata: ${JSON.stringify({ jsonrpc: '2.0', result: { text } })}\n\n`
  const stream = `: keepalive\n\n${event(`The key is ${secret}.`)}${event('Grüße 🌊')}`
  const bytes = Buffer.from(stream)
  const expected = stream.replace(secret, '[redacted]')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 6 }), async (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
      expect(await cleaned(pieces)).toBe(expected)
    }),
  )
})
