import { describe, expect, it } from 'vitest'
import { createRedactor } from '../security/redactor.ts'
import { redactReply } from './app.ts'
import { jsonReply } from './replies.ts'

const secret = 'sk-canary-"0123456789"'
const redactor = createRedactor([secret, 'nabcdefgh'])

const replyOf = (type: string, ...chunks: (string | Uint8Array)[]) =>
  new Response(ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk))), { headers: { 'content-type': type } })

describe('redactReply', () => {
  it('SEC-13 keeps JSON valid, with its status and headers', async () => {
    const reply = jsonReply({ text: `a ${secret}`, lines: 'x\nabcdefgh' }, { status: 409, headers: { 'x-a': 'b' } })
    const redacted = await redactReply(reply, redactor)
    expect(redacted.status).toBe(409)
    expect(redacted.headers.get('x-a')).toBe('b')
    expect(await redacted.json()).toEqual({ text: 'a [redacted]', lines: 'x\nabcdefgh' })
  })

  it('SEC-13 finds a secret that spans two chunks of a text', async () => {
    for (const type of ['application/x-ndjson; charset=utf-8', 'text/markdown; charset=utf-8']) {
      const redacted = await redactReply(
        replyOf(type, `Grüße ${secret.slice(0, 9)}`, `${secret.slice(9)} end`),
        redactor,
      )
      expect(await redacted.text()).toBe('Grüße [redacted] end')
    }
  })

  it('passes on responses that are not text or have no body, and events, which are cleaned one by one', async () => {
    const image = replyOf('image/png', new Uint8Array([255, 0, 1]))
    const events = replyOf('text/event-stream; charset=utf-8', 'data: x\n\n')
    const nothing = new Response(null, { status: 204 })
    for (const reply of [image, events, nothing]) expect(await redactReply(reply, redactor)).toBe(reply)
  })
})
