import { request } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { connectMcp } from '../support/mcp/connect-mcp.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})
async function serve(options: Parameters<typeof serveFamiliar>[0] = {}): Promise<ServedFamiliar> {
  const served = await serveFamiliar(options)
  closers.push(served.close)
  return served
}

/** A model that answers only when released. */
function heldModel() {
  const held = Promise.withResolvers<void>()
  const model = createScriptedModel({
    script: async () => {
      await held.promise
      return { text: 'Done.' }
    },
  })
  // Whatever a test ends with, nothing waits for it any longer.
  closers.push(async () => held.resolve())
  return { model, release: held.resolve }
}

const leaving = (message: string, session: string, key?: string) => ({
  path: '/api/v1/notify',
  body: { message, session },
  ...(key !== undefined && { headers: { 'idempotency-key': key } }),
})
const quiet = '[sessions]\ndebounce_ms = 60000\n'
const refusal = { status: 429, json: { code: 'rate_limited' }, headers: { 'retry-after': '5' } }

describe('a queue that is full', () => {
  it('SCALE-6 refuses new messages with 429 and a time to retry, and keeps the accepted ones', async () => {
    const served = await serve({ toml: `${quiet}max_queued_per_session = 2\n` })
    const first = await served.call(leaving('One', 'main', 'key-1'))
    expect(first.status).toBe(202)
    expect((await served.call(leaving('Two', 'main'))).status).toBe(202)
    expect(await served.call(leaving('Three', 'main'))).toMatchObject(refusal)
    // An accepted message is not rejected when repeated, and another conversation has room.
    const again = await served.call(leaving('One', 'main', 'key-1'))
    expect(again).toMatchObject({ status: 202, json: { duplicate: true, message_id: first.json.message_id } })
    expect((await served.call(leaving('Elsewhere', 'side'))).status).toBe(202)
    const { database } = served.familiar
    const rows = await database.read.selectFrom('inbox').select('id').where('state', '=', 'queued').execute()
    expect(rows).toHaveLength(3)
  })

  it('SCALE-6 counts what waits in all, over all conversations and ways in', async () => {
    const served = await serve({ toml: `${quiet}max_queued = 2\n` })
    for (const session of ['a', 'b']) expect((await served.call(leaving('Hi', session))).status).toBe(202)
    expect(await served.call(leaving('Hi', 'c'))).toMatchObject(refusal)
  })

  it('SCALE-6 takes messages again as soon as there is room, and everything that was taken is answered', async () => {
    const { model, release } = heldModel()
    const served = await serve({ model, toml: '[sessions]\ndebounce_ms = 0\nmax_queued_per_session = 1\n' })
    const say = () => served.call({ path: '/api/v1/chat', body: { message: 'Hi', session: 'main' } })
    const first = say()
    await expect.poll(() => served.familiar.conversations.load().running).toBe(1)
    const second = say()
    await expect.poll(() => served.familiar.conversations.load().waiting).toBe(1)
    expect(await say()).toMatchObject(refusal)
    release()
    expect([(await first).status, (await second).status]).toEqual([200, 200])
    expect((await say()).status).toBe(200)
  })

  it('SCALE-6 says so to the clients of OpenAI and of MCP in their own words', async () => {
    const { model } = heldModel()
    const served = await serve({
      model,
      toml: '[sessions]\ndebounce_ms = 0\nmax_concurrent_turns = 1\nmax_queued = 1\n',
    })
    expect((await served.call(leaving('Runs', 'a'))).status).toBe(202)
    await expect.poll(() => served.familiar.conversations.load().running).toBe(1)
    expect((await served.call(leaving('Waits', 'b'))).status).toBe(202)
    const body = { model: 'familiar', messages: [{ role: 'user', content: 'Hi' }] }
    for (const stream of [false, true]) {
      expect(await served.call({ path: '/v1/chat/completions', body: { ...body, stream } })).toMatchObject({
        status: 429,
        json: { error: { type: 'rate_limit_error', code: 'rate_limited' } },
        headers: { 'retry-after': '5' },
      })
    }
    expect(await served.call({ path: '/v1/responses', body: { model: 'familiar', input: 'Hi' } })).toMatchObject({
      status: 429,
      json: { error: { type: 'rate_limit_error' } },
    })
    const client = await connectMcp('newer', { url: `${served.server.url}/mcp`, token: served.owner.token })
    closers.unshift(client.close)
    const answer = await client.call('ask', { message: 'Hi' })
    expect(answer).toMatchObject({
      isError: true,
      text: expect.stringMatching(/Too many messages are waiting.*5 seconds/s),
    })
  })
})

describe('streams', () => {
  it('SCALE-6 one user cannot take every place, and one that ends makes room', async () => {
    const served = await serve({ settings: { maxStreams: 3, maxStreamsPerUser: 2 } })
    const { user, made } = await served.users.add({ name: 'Ben', scope: 'chat' })
    for (const userId of [served.familiar.userId, user.id]) {
      await served.familiar.say('Hello', { channel: 'http', userId })
    }
    const path = '/api/v1/sessions/main/events'
    const own = [await served.open({ path }), await served.open({ path })]
    expect(own.map(({ response }) => response.statusCode)).toEqual([200, 200])
    expect(await served.call({ path })).toMatchObject({ ...refusal, json: { error: /You have 2 streams open/ } })
    const other = await served.open({ path, token: made.token })
    expect(other.response.statusCode).toBe(200)
    own[0]?.request.destroy()
    await expect
      .poll(async () => {
        const { request: opened, response } = await served.open({ path })
        opened.destroy()
        return response.statusCode
      })
      .toBe(200)
    for (const { request: opened } of [...own, other]) opened.destroy()
  })
})

describe('bodies', () => {
  const kilobytes = (count: number) => JSON.stringify({ message: 'x'.repeat(count * 1024), session: 'main' })

  /** Sends all but the end, and then waits. */
  async function begin(served: ServedFamiliar, body: string) {
    const sending = request({
      host: '127.0.0.1',
      port: served.server.port,
      method: 'POST',
      path: '/api/v1/notify',
      headers: {
        authorization: `Bearer ${served.owner.token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    })
    const answered = new Promise<number>((resolve, reject) => {
      sending.on('response', (response) => resolve(response.resume().statusCode ?? 0))
      sending.on('error', reject)
    })
    await new Promise((resolve) => sending.write(body.slice(0, -1), resolve))
    return { answered, finish: () => sending.end(body.slice(-1)) }
  }

  const settings = { maxBytesInFlight: 100 * 1024, maxBodyBytes: 1024 ** 2 }
  const small = { path: '/api/v1/notify', body: kilobytes(60) }

  it('SCALE-6 memory for bodies is limited, and a refused request can be retried', async () => {
    const served = await serve({ settings })
    const { answered, finish } = await begin(served, kilobytes(60))
    await expect.poll(async () => (await served.call(small)).status).toBe(429)
    expect(await served.call({ ...small, chunked: true })).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
    })
    expect((await served.call({ path: '/api/v1/notify', body: { message: 'Short.' } })).status).toBe(202)
    finish()
    expect(await answered).toBe(202)
    expect((await served.call(small)).status).toBe(202)
    // Larger than all that is allowed together, but nothing else is there.
    expect((await served.call({ path: '/api/v1/notify', body: kilobytes(150) })).status).toBe(202)
  })

  it('SCALE-6 a client that only waits for a response holds nothing', async () => {
    const { model, release } = heldModel()
    const served = await serve({ settings, model })
    const asking = served.call({ path: '/api/v1/chat', body: kilobytes(60) })
    await expect.poll(() => served.familiar.conversations.load().running).toBe(1)
    expect((await served.call(small)).status).toBe(202)
    release()
    expect((await asking).status).toBe(200)
  })

  it('SCALE-6 without the guard "body_load" everything is held', async () => {
    const served = await serve({ settings, without: 'body_load' })
    const { answered, finish } = await begin(served, kilobytes(60))
    for (let i = 0; i < 5; i += 1) expect((await served.call(small)).status).toBe(202)
    finish()
    expect(await answered).toBe(202)
  })
})
