import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { startFakeTelegram } from '../../../test/support/fake-telegram/start-fake-telegram.ts'
import { systemClock } from '../../base/clock.ts'
import { createGuardedFetch } from '../../security/network/guarded-fetch.ts'
import { createTelegramApi } from './api.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function openApi() {
  const server = await startFakeTelegram()
  closers.push(server.close)
  const fetch = createGuardedFetch({
    allowedHosts: [{ host: '127.0.0.1', port: Number(new URL(server.apiRoot).port) }],
  })
  const api = createTelegramApi({ token: server.token, apiRoot: server.apiRoot, fetch, clock: systemClock() })
  closers.push(api.close)
  return { server, api }
}

const signal = new AbortController().signal
const sentSchema = z.object({ message_id: z.int() })

test('CHAN-1 an outcome is ok, refused, unreached or unknown, and nothing else', async () => {
  const { server, api } = await openApi()
  const send = (more: { timeoutMs?: number } = {}) =>
    api.call('sendMessage', { chat_id: 7, text: 'Hello' }, { result: sentSchema, signal, ...more })

  expect(await send()).toEqual({ kind: 'ok', result: { message_id: 1 } })
  server.fail({ fault: { kind: 'refuse', code: 429, retryAfter: 3 } })
  expect(await send()).toMatchObject({ kind: 'refused', code: 429, retryAfterSeconds: 3 })
  server.fail({ fault: { kind: 'refuse', code: 400, moveTo: -100 } })
  expect(await send()).toMatchObject({ kind: 'refused', code: 400, movedTo: -100 })
  server.fail({ fault: { kind: 'garbage', status: 502, body: '<html>Bad Gateway' } })
  expect(await send()).toMatchObject({ kind: 'refused', code: 502 })
  server.fail({ fault: { kind: 'garbage', status: 200, body: 'fine' } })
  expect(await send()).toMatchObject({ kind: 'unknown' })
  server.fail({ fault: { kind: 'drop' } })
  expect(await send()).toMatchObject({ kind: 'unknown' })
  server.fail({ fault: { kind: 'cut' } })
  expect(await send()).toMatchObject({ kind: 'unknown' })
  server.fail({ fault: { kind: 'hang' } })
  expect(await send({ timeoutMs: 50 })).toMatchObject({ kind: 'unknown' })
  expect(server.chat(7)).toHaveLength(2)
  await server.close()
  expect(await send()).toMatchObject({ kind: 'unreached' })
})

test('throws when the caller aborts, and makes no further call', async () => {
  const { server, api } = await openApi()
  const poll = new AbortController()
  const waiting = api.call('getUpdates', { timeout: 50 }, { result: z.json(), signal: poll.signal, timeoutMs: 60_000 })
  await server.until(() => server.calls.length === 1)
  poll.abort(new Error('closing'))
  await expect(waiting).rejects.toThrow('closing')
  await expect(api.call('getMe', {}, { result: z.json(), signal: poll.signal })).rejects.toThrow('closing')
  expect(server.calls).toHaveLength(1)
})

test('files are sent as a form and received within their limit', async () => {
  const { server, api } = await openApi()
  const data = new Uint8Array([1, 2, 3, 0, 255])
  const file = { name: 'a “b”.bin', mediaType: 'application/octet-stream', data }
  const answer = await api.call(
    'sendDocument',
    { chat_id: 7, caption: '42', caption_entities: [{ type: 'bold', offset: 0, length: 2 }] },
    { result: sentSchema, signal, files: { document: file } },
  )
  expect(answer.kind).toBe('ok')
  const document = server.chat(7)[0]?.files.document
  expect([document?.name, document?.mediaType, new Uint8Array(document?.data ?? [])]).toEqual([
    file.name,
    file.mediaType,
    data,
  ])

  server.addFile('voice-1', data, 'voice/file 1.oga')
  expect(await api.download('voice/file 1.oga', { maxBytes: 5, signal })).toEqual({ kind: 'ok', result: data })
  expect(await api.download('voice/file 1.oga', { maxBytes: 4, signal })).toMatchObject({ kind: 'refused', code: 413 })
  expect(await api.download('../../bot/getMe', { maxBytes: 4, signal })).toMatchObject({ kind: 'refused', code: 404 })
})

test('SEC-13 no error contains the token, wherever it comes from', async () => {
  const { server, api } = await openApi()
  server.fail({ fault: { kind: 'refuse', code: 400, description: `bad address /bot${server.token}/x` } })
  const refused = await api.call('getMe', {}, { result: z.json(), signal })
  await server.close()
  const unreached = await api.call('getMe', {}, { result: z.json(), signal })
  for (const answer of [refused, unreached]) expect(JSON.stringify(answer)).not.toContain('fake-token')
})
