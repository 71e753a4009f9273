import { afterEach, expect, it } from 'vitest'
import { openLocalSite } from '../../test/support/local-site.ts'
import { openScriptedFamiliar, said, toolOf } from '../../test/support/scripted-familiar.ts'
import { createScriptedModel } from '../../test/support/scripted-model.ts'
import { systemClock } from '../base/clock.ts'
import { createIds } from '../base/ids.ts'
import { silentLogger } from '../base/logger.ts'
import { isSignedWith } from '../daemon/scheduler/tool-triggers.ts'
import { createGuardedFetch } from '../security/network/guarded-fetch.ts'
import { createCallbackItems, createCallbackSender } from './callback.ts'
import { createOutbox } from './create-outbox.ts'
import { createDeliveries } from './deliveries.ts'

const secret = 'a-secret-that-two-know'
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

type Answered = { status: number; headers?: Record<string, string> } | 'cut'

async function open(options: { answers?: Answered[]; channels?: string[]; isListed?: boolean; path?: string } = {}) {
  const { answers = [], channels = [], isListed = true, path = '/told?key=in-the-url' } = options
  const site = await openLocalSite((_request, response) => {
    const answer = answers.shift() ?? { status: 204 }
    if (answer === 'cut') response.socket?.destroy()
    else response.writeHead(answer.status, answer.headers).end()
  })
  closers.push(site.close)
  const tool = toolOf('look', async () => said('seen'))
  const script = (_request: unknown, call: number) =>
    call === 1 ? { toolCalls: [{ name: 'look' }] } : { text: 'Hello' }
  const familiar = await openScriptedFamiliar({ model: createScriptedModel({ script }), tools: [tool] })
  closers.push(familiar.close)
  const clock = systemClock()
  const { database, log, userId } = familiar
  const fetch = createGuardedFetch({ allowedHosts: isListed ? [{ host: '127.0.0.1', port: site.port }] : [] })
  const settings = () => ({ url: `${site.origin}${path}`, secret, channels })
  const outbox = createOutbox({ database, clock, ids: createIds(clock), logger: silentLogger, random: () => 0 })
  const deliveries = createDeliveries({ database, log, outbox, clock, logger: silentLogger })
  await outbox.start([createCallbackSender({ fetch, clock, settings })])
  await deliveries.start([createCallbackItems({ log, settings })])
  closers.push(fetch.close, outbox.close, deliveries.close)
  const items = async () => {
    await deliveries.settle()
    for (;;) {
      const { pending, sending } = await outbox.counts(userId)
      if (pending + sending === 0) return (await outbox.list(userId, { limit: 50 })).toReversed()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  return { site, familiar, items }
}

it('OUT-4 calls the program after each processed message, signed over time and body', async () => {
  const { site, familiar, items } = await open()
  const end = await familiar.say('Hi', { contact: 'anna' })
  const [item] = await items()
  expect(item).toMatchObject({ state: 'sent', channel: 'callback', address: `127.0.0.1:${site.port}` })
  // The rest of the address may contain a key and is not shown.
  expect(JSON.stringify(item)).not.toContain('in-the-url')
  const [request] = site.requests
  const header = (name: string) => String(request?.headers[`x-familiar-${name}`])
  const call = { tool: '', timestamp: header('timestamp'), nonce: header('nonce'), signature: header('signature') }
  const body = Buffer.from(request?.body ?? '')
  expect(isSignedWith(secret, { ...call, body })).toBe(true)
  expect(isSignedWith(secret, { ...call, body: Buffer.concat([body, Buffer.from(' ')]) })).toBe(false)
  expect(isSignedWith(secret, { ...call, timestamp: `${Number(call.timestamp) + 1}`, body })).toBe(false)
  expect(isSignedWith('another-secret', { ...call, body })).toBe(false)
  expect(request).toMatchObject({ method: 'POST', url: '/told?key=in-the-url' })
  expect(JSON.parse(request?.body ?? '')).toEqual({
    id: item?.id,
    event: 'message_processed',
    turn_id: end.turnId,
    session_id: end.sessionId,
    channel: 'cli',
    contact: 'anna',
    message_ids: [end.messageId],
    text: 'Hello',
    outcome: 'completed',
    model: 'scripted/main',
    cost_usd: end.costUsd,
    tool_calls: [{ name: 'look', input: {}, is_error: false }],
    at: expect.stringMatching(/^\d{4}-.*Z$/),
  })
  expect(header('nonce')).toBe(item?.id)
})

it('OUT-4 retries under the same id until it succeeds', async () => {
  const { site, familiar, items } = await open({ answers: [{ status: 503 }, 'cut', { status: 200 }] })
  await familiar.say('Hi')
  expect(await items()).toMatchObject([{ state: 'sent', attempts: 3 }])
  const ids = site.requests.map(({ body }) => JSON.parse(body).id)
  expect(ids).toHaveLength(3)
  expect(new Set(ids).size).toBe(1)
})

it('OUT-3 waits as long as requested', async () => {
  const { site, familiar, items } = await open({ answers: [{ status: 429, headers: { 'retry-after': '0' } }] })
  await familiar.say('Hi')
  expect(await items()).toMatchObject([{ state: 'sent', attempts: 2 }])
  expect(site.requests).toHaveLength(2)
})

it.each([
  [410, 'HTTP 410'],
  [404, 'HTTP 404'],
  [302, 'HTTP 302: redirects are not followed'],
])('OUT-3 %s: no retry, and no other address', async (status, error) => {
  const headers = { location: 'http://127.0.0.1:1/elsewhere' }
  const { site, familiar, items } = await open({ answers: [{ status, headers }] })
  await familiar.say('Hi')
  expect(await items()).toMatchObject([{ state: 'failed', error, attempts: 1 }])
  expect(site.requests).toHaveLength(1)
})

it('SEC-8 calls no host of this network that the owner has not listed', async () => {
  const { site, familiar, items } = await open({ isListed: false })
  await familiar.say('Hi')
  expect(await items()).toMatchObject([{ state: 'failed', attempts: 1 }])
  expect(site.requests).toEqual([])
})

it('OUT-4 only for the channels in the config', async () => {
  const { site, familiar, items } = await open({ channels: ['telegram'] })
  await familiar.say('Hi')
  await familiar.say('Hi', { channel: 'telegram', contact: '7' })
  await items()
  expect(site.requests.map(({ body }) => JSON.parse(body).channel)).toEqual(['telegram'])
})
