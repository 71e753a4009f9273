import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { openTelegram } from '../../../test/support/fake-telegram/open-telegram.ts'
import { type FakeTelegram, startFakeTelegram } from '../../../test/support/fake-telegram/start-fake-telegram.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { openCommands } from '../../../test/support/open-commands.ts'
import { createScriptedModel } from '../../../test/support/scripted-model.ts'
import { waitFor } from '../../../test/support/wait-for.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { createBatchPlace } from './telegram-channel.ts'

const anna = 71
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

type Conversations = Awaited<ReturnType<typeof openCommands>>['conversations']

async function openPolling(
  change: (conversations: Conversations) => Partial<Conversations> = () => ({}),
  prepare?: (server: FakeTelegram) => void,
) {
  const familiar = await openCommands({ model: createScriptedModel({ script: () => ({ text: 'Yes.' }) }) })
  closers.push(familiar.close)
  const server = await startFakeTelegram()
  closers.push(server.close)
  prepare?.(server)
  const clock = createManualClock()
  const conversations = { ...familiar.conversations, ...change(familiar.conversations) }
  const changed = { ...familiar, conversations }
  const telegram = await openTelegram({ familiar: changed, server, allowedIds: [anna], clock })
  closers.push(telegram.close)
  const inbox = () => familiar.database.read.selectFrom('inbox').select('data').execute()
  const polls = () => server.calls.filter(({ method }) => method === 'getUpdates')
  return { familiar, server, clock, telegram, inbox, polls }
}

test('CHAN-1 respects a requested pause, and retries other failures after growing pauses', async () => {
  const { server, clock, polls, telegram, inbox } = await openPolling(undefined, (fresh) => {
    fresh.fail({ method: 'getUpdates', fault: { kind: 'refuse', code: 429, retryAfter: 30 } })
    fresh.fail({ method: 'getUpdates', fault: { kind: 'refuse', code: 502 }, times: 2 })
    fresh.fail({ method: 'getUpdates', fault: { kind: 'refuse', code: 409 } })
  })
  const next = async (afterMs: number, count: number) => {
    await waitFor(() => expect(clock.timers()).toBeGreaterThan(0))
    await clock.advance(afterMs - 1)
    expect(polls()).toHaveLength(count - 1)
    await clock.advance(1)
    await server.until(() => polls().length === count)
  }
  await server.until(() => polls().length === 1)
  await waitFor(() => expect(telegram.channel.status().state).toBe('waiting'))
  await next(30_000, 2)
  await next(2_000, 3)
  await next(4_000, 4)
  await waitFor(() => expect(telegram.channel.status().state).toBe('conflict'))
  expect(telegram.channel.status().problem).toContain('another program')
  server.say(anna, 'Hello')
  await next(8_000, 5)
  await waitFor(async () => expect(await inbox()).toHaveLength(1))
  expect(telegram.channel.status()).toMatchObject({ state: 'listening', problem: null })
})

test('CHAN-1 stops polling if Telegram rejects the token', async () => {
  for (const method of ['getMe', 'getUpdates']) {
    const { server, telegram } = await openPolling(undefined, (fresh) =>
      fresh.fail({ method, fault: { kind: 'refuse', code: 401 }, times: 99 }),
    )
    await waitFor(() => expect(telegram.channel.status().state).toBe('refused'))
    const asked = server.calls.length
    await telegram.channel.close()
    expect(server.calls).toHaveLength(asked)
  }
})

test('CHAN-1 retries a message while the queue is full and keeps its place; an unacceptable one is reported', async () => {
  let full = true
  const { server, clock, inbox, familiar } = await openPolling(({ submit }) => ({
    async submit(inbound, also) {
      if (inbound.text === 'long') throw new FamiliarError('payload_too_large', 'The message is too long.')
      if (full) throw new FamiliarError('rate_limited', 'Too many messages are waiting', { retryAfterSeconds: 5 })
      return submit(inbound, also)
    },
  }))
  server.say(anna, 'long')
  await server.until(() => server.chat(anna).length === 1)
  expect(server.chat(anna)[0]?.text).toBe('The message is too long.')
  server.say(anna, 'Hello')
  await server.until(() => server.waitingUpdates() === 1)
  await clock.advance(20_000)
  const place = () =>
    familiar.database.read.selectFrom('channel_marks').select('value').where('name', '=', 'offset').executeTakeFirst()
  expect((await place())?.value).toBe('1001')
  full = false
  await waitFor(async () => {
    await clock.advance(5_000)
    expect(await inbox()).toHaveLength(1)
  })
  expect((await place())?.value).toBe('1002')
})

test('CHAN-1 an update that keeps failing is reported to its sender and does not block others', async () => {
  let tries = 0
  const { server, clock, inbox } = await openPolling(({ submit }) => ({
    async submit(inbound, also) {
      if (inbound.text !== 'poison') return submit(inbound, also)
      tries += 1
      throw new Error('a fault of ours')
    },
  }))
  server.say(anna, 'poison')
  server.say(anna, 'Hello')
  await waitFor(async () => {
    await clock.advance(20_000)
    expect(await inbox()).toHaveLength(1)
  })
  expect(tries).toBe(5)
  await server.until(() => server.chat(anna).length === 1)
  expect(server.chat(anna)[0]?.text).toMatch(/^I could not process your last message/)
})

test('CHAN-1 polls with a pause if the server keeps returning the same updates', async () => {
  const message = { message_id: 1, date: 1, chat: { id: anna, type: 'private' }, from: { id: anna }, text: 'Hello' }
  const body = JSON.stringify({ ok: true, result: [{ update_id: 5, message }] })
  const { server, polls, inbox, clock } = await openPolling(undefined, (fresh) =>
    fresh.fail({ method: 'getUpdates', fault: { kind: 'garbage', status: 200, body }, times: 99 }),
  )
  for (const count of [2, 3, 4]) {
    await server.until(() => polls().length === count)
    await waitFor(() => expect(clock.timers()).toBeGreaterThan(0))
    expect(polls()).toHaveLength(count)
    await clock.advance(1_000)
  }
  expect(await inbox()).toHaveLength(1)
})

test('CHAN-1 the offset never passes an unprocessed update', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(1_000), { minLength: 1, maxLength: 20 }),
      fc.infiniteStream(fc.nat()),
      (ids, choices) => {
        const place = createBatchPlace(ids)
        const open = new Set(ids)
        while (open.size > 0) {
          const chosen = [...open][(choices.next().value ?? 0) % open.size] ?? 0
          open.delete(chosen)
          const moved = place.placeWith(chosen)
          expect([...open].every((id) => id >= moved)).toBe(true)
          place.settle(chosen)
        }
        expect(place.end).toBe(Math.max(...ids) + 1)
      },
    ),
  )
})
