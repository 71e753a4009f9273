import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { OutboxItem } from '../../src/channels/outbox.ts'
import { createTelegramApi } from '../../src/channels/telegram/api.ts'
import { createTelegramSender } from '../../src/channels/telegram/sender.ts'
import { markdownPayloads, plainPayloads } from '../../src/channels/telegram/text-payloads.ts'
import { createGuardedFetch } from '../../src/security/network/guarded-fetch.ts'
import { type FakeTelegram, startFakeTelegram } from '../support/fake-telegram/start-fake-telegram.ts'
import { hostileStrings, hostileText, unsafeIn } from './hostile-strings.ts'

const chatId = 3001
const clock = systemClock()
let server: FakeTelegram
beforeAll(async () => {
  server = await startFakeTelegram()
})
afterAll(() => server.close())

it("SEC-10 a model's text arrives on Telegram without control or disguise characters", async () => {
  const allowedHosts = [{ host: '127.0.0.1', port: Number(new URL(server.apiRoot).port) }]
  const fetch = createGuardedFetch({ allowedHosts })
  const api = createTelegramApi({ token: server.token, apiRoot: server.apiRoot, fetch, clock })
  const sender = createTelegramSender({
    api,
    media: { load: () => Promise.reject(new Error('There are no files')) },
    mayReceive: async () => true,
    secretLink: async () => undefined,
    settings: () => ({ repeatUnknown: true }),
    clock,
  })
  const signal = new AbortController().signal
  for (const payload of [...markdownPayloads(hostileText()), ...plainPayloads(hostileText())]) {
    const item = { userId: 'user-1', address: String(chatId), payload } as unknown as OutboxItem
    expect(await sender.send(item, signal)).toMatchObject({ kind: 'sent' })
  }
  const arrived = server.chat(chatId).map(({ text }) => text)
  for (const text of arrived) {
    expect(unsafeIn(text)).toEqual([])
    expect(text.length).toBeLessThanOrEqual(4_000)
  }
  const whole = arrived.join('\n')
  expect(hostileStrings.filter(({ mark }) => whole.split(mark).length !== 3).map(({ mark }) => mark)).toEqual([])
  await api.close()
  await fetch.close()
})
