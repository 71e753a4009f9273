import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createScriptedModel } from '../support/scripted-model.ts'
import { attachmentLimit, type ServedFamiliar, serveFamiliar } from './http-support.ts'

describe('bad input', () => {
  const model = createScriptedModel({ script: () => ({ text: 'Hello.' }) })
  let served: ServedFamiliar
  beforeAll(async () => {
    served = await serveFamiliar({ model, settings: { maxBodyBytes: 2 * 1024 * 1024 } })
    await served.familiar.say('Hello')
  })
  afterAll(() => served.close())

  const chat = (body: unknown, headers: Record<string, string> = {}) =>
    served.call({ path: '/api/v1/chat', body, headers })
  const lastText = () => model.requests.at(-1)?.messages.at(-1)

  const refused: [string, unknown, RegExp][] = [
    ['an empty message', { message: '' }, /empty/],
    ['a blank message', { message: ' \n\t' }, /empty/],
    ['no message', {}, /^message: /],
    ['a message that is a number', { message: 7 }, /^message: /],
    ['a list', [], /^body: /],
    ['null', 'null', /^body: /],
    ['an unknown key, by its name', { message: 'x', mesage: 'y' }, /unknown key "mesage"/],
    ['an unknown key of an attachment', attached({ path: '/etc/passwd' }), /attachments\.0: unknown key "path"/],
    ['an unknown tier', { message: 'x', tier: 'vast' }, /^tier: /],
    ['a channel that is no slug', { message: 'x', channel: '../etc' }, /^channel: /],
    ['a source that is no slug', { message: 'x', source: 'A B' }, /^source: /],
    ['an empty session', { message: 'x', session: ' ' }, /^session: /],
    ['a session called all', { message: 'x', session: 'all' }, /^session: /],
    ['a session with control characters', { message: 'x', session: 'a\u001b[2J' }, /^session: /],
    ['a session with half a character', '{"message":"x","session":"\\ud800"}', /^session: /],
    ['a sender that is too long', { message: 'x', sender: 's'.repeat(201) }, /^sender: /],
    ['metadata that is no object', { message: 'x', metadata: [1] }, /^metadata: /],
    ['an attachment that is not base64', attached({ data: 'not base64!' }), /attachments\.0\.data/],
    ['an attachment with a path', attached({ name: '../../x' }), /attachments\.0\.name/],
    ['an attachment without a type', attached({ media_type: 'text' }), /attachments\.0\.media_type/],
    ['too many attachments', { message: 'x', attachments: Array(11).fill(attachment({})) }, /^attachments: /],
  ]
  for (const [name, body, message] of refused) {
    it(`HTTP-2 refuses ${name}`, async () => {
      const answer = await chat(body)
      expect(answer).toMatchObject({
        status: 400,
        json: { code: 'bad_request', error: expect.stringMatching(message) },
      })
    })
  }

  it('SEC-18 a megabyte of text is refused in words, not cut', async () => {
    const answer = await chat({ message: 'a'.repeat(1024 * 1024) })
    expect(answer).toMatchObject({ status: 413, json: { code: 'payload_too_large' } })
    expect(answer.json.error).toMatch(/1,048,576 characters/)
  })

  it('SEC-18 a body of only brackets does not overflow the stack', async () => {
    const brackets = '['.repeat(400_000) + ']'.repeat(400_000)
    expect((await chat(brackets)).status).toBe(400)
    expect((await chat(`{"message":"x","metadata":{"a":${brackets}}}`)).json.error).toMatch(/nested/)
    expect((await chat(`{"message":${brackets}}`)).status).toBe(400)
    expect((await chat(`{"surprise":${brackets}}`)).status).toBe(400)
  })

  it('SEC-18 attachments have a limit of their own', async () => {
    const data = Buffer.alloc(attachmentLimit + 1).toString('base64')
    expect((await chat(attached({ data }))).status).toBe(413)
  })

  it('HTTP-1 lone surrogates, NUL and control characters do not break a turn', async () => {
    const answer = await chat('{"message":"a\\ud800b\\u0000c\\u0007d"}')
    expect(answer.status).toBe(200)
    expect(JSON.stringify(lastText())).toContain('a\ufffdbc\\u0007d')
  })

  it('HTTP-1 keys that look like a prototype are data', async () => {
    const answer = await chat('{"message":"x","metadata":{"constructor":1,"__proto__":{"polluted":true}}}')
    expect(answer.status).toBe(200)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect((await chat('{"message":"x","__proto__":{"session":"other"}}')).status).toBe(400)
  })

  it('HTTP-2 an unknown session is 404 in every form', async () => {
    const unknown = '00000000-0000-7000-8000-000000000000'
    expect((await chat({ message: 'x', session: unknown })).json).toMatchObject({ code: 'not_found' })
    for (const name of [unknown, 'nobody', '%00', '%E0%A4%A', '..%2f..', 'a'.repeat(500)]) {
      const answer = await served.call({ path: `/api/v1/sessions/${name}/history` })
      expect({ name, status: answer.status }).toEqual({ name, status: 404 })
    }
    const reset = await served.call({ path: '/api/v1/sessions/reset', body: { target: 'nobody' } })
    expect(reset.status).toBe(404)
  })

  it('HTTP-2 a query is checked as strictly as a body', async () => {
    const wrong = [
      'cost?period=fortnight',
      'cost?perod=week',
      'sessions?archived=maybe',
      'sessions/main/history?limit=0',
      'sessions/main/history?limit=100000',
      'sessions/main/history?after=-1',
      'sessions/main/history?after=x',
      'sessions/main/events?after=yesterday',
      'monitor?token=x',
    ]
    for (const path of wrong) {
      const answer = await served.call({ path: `/api/v1/${path}` })
      expect({ path, status: answer.status, code: answer.json.code }).toEqual({
        path,
        status: 400,
        code: 'bad_request',
      })
    }
  })

  it('SESS-3 the same key is one turn, with another body it is a conflict, and header and body may not differ', async () => {
    const first = await chat({ message: 'once', key: 'key-1' })
    const again = await chat({ message: 'once' }, { 'idempotency-key': 'key-1' })
    expect(again.json.turn_id).toBe(first.json.turn_id)
    expect((await chat({ message: 'twice', key: 'key-1' })).json).toMatchObject({ code: 'conflict' })
    expect((await chat({ message: 'x', key: 'a' }, { 'idempotency-key': 'b' })).status).toBe(400)
    expect((await chat({ message: 'x' }, { 'idempotency-key': 'x'.repeat(300) })).status).toBe(400)
  })
})

function attachment(change: object) {
  return { name: 'a.txt', media_type: 'text/plain', data: 'YQ==', ...change }
}

function attached(change: object) {
  return { message: 'x', attachments: [attachment(change)] }
}
