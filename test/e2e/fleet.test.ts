import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ChatReply, ClientCallsReply } from '../../src/protocol/api.ts'
import type { MadeTokenReply, UserTokenReply } from '../../src/protocol/users.ts'
import { createGuardedTools } from '../support/guarded-tools.ts'
import { whyNoPostgres } from '../support/postgres/start-postgres.ts'
import type { RunningFamiliar } from '../support/running-familiar.ts'
import { greeterFiles, greeterManifest } from '../support/served-capabilities.ts'
import { createGate, type FleetBench, fleetToml, openFleetBench } from './fleet-bench.ts'

const patience = { timeout: 15_000 }
const guarded = createGuardedTools()
let bench: FleetBench
/** It takes messages in and runs no turn: every turn runs elsewhere. */
let front: RunningFamiliar
let worker: RunningFamiliar

beforeAll(async () => {
  if (whyNoPostgres()) return
  bench = await openFleetBench({ FAMILIAR_SANDBOX: 'embedded' })
  front = await bench.start('api', { tools: guarded.tools })
  worker = await bench.start('all', { tools: guarded.tools })
})
afterAll(() => bench?.close())
afterEach(() => bench?.fake.respondWith(() => undefined))

async function json<T>(response: Promise<Response>): Promise<T & { status: number }> {
  const answer = await response
  return { ...((await answer.json()) as T), status: answer.status }
}

/** Leaves a message at the front; resolves when the model is asked for its answer. */
async function begin(session: string, message: string): Promise<string> {
  const before = bench.fake.requests.length
  const { session_id } = await json<{ session_id: string }>(
    front.request('POST', '/api/v1/notify', { message, session }),
  )
  await bench.fake.until(() => bench.fake.requests.length > before)
  return session_id
}

const control = (id: string, what: string, body: object = {}) =>
  json<{ error?: string; session_id: string }>(front.request('POST', `/api/v1/sessions/${id}/${what}`, body))

async function eventsOf(sessionId: string): Promise<{ type: string; data: string }[]> {
  return bench.query(`select type, data from session_events where session_id = '${sessionId}' order by seq`)
}

async function outcomesOf(sessionId: string): Promise<string[]> {
  const events = await eventsOf(sessionId)
  return events.flatMap(({ type, data }) => (type === 'turn_ended' ? [JSON.parse(data).outcome] : []))
}

describe.skipIf(whyNoPostgres())('a turn that runs at another daemon', () => {
  it('SCALE-4 answers messages in the order of their coming, whichever daemon they come to', async () => {
    const open = createGate(bench.fake)
    const id = await begin('ordered', 'first')
    for (const [index, message] of ['second', 'third', 'fourth'].entries()) {
      const at = index % 2 === 0 ? worker : front
      await at.request('POST', '/api/v1/notify', { message, session: 'ordered', sender: `sender ${index}` })
    }
    expect(await outcomesOf(id)).toEqual([])
    open()
    const last = await front.chat('fifth', { session: 'ordered' })
    expect(last.reply).toBe('Done.')
    const heard = (await eventsOf(id)).flatMap(({ type, data }) =>
      type === 'message_received' ? [...data.matchAll(/first|second|third|fourth|fifth/g)].map(([word]) => word) : [],
    )
    expect(heard).toEqual(['first', 'second', 'third', 'fourth', 'fifth'])
    expect(new Set(await outcomesOf(id))).toEqual(new Set(['completed']))
  })

  it('SCALE-4 is stopped from here, and the next message is answered', async () => {
    bench.fake.reply({ text: 'On and on', hang: true })
    const id = await begin('stopped', 'Talk')
    expect(await control(id, 'stop')).toMatchObject({ status: 200 })
    await expect.poll(() => outcomesOf(id), patience).toEqual(['stopped'])
    expect((await front.chat('Hello', { session: 'stopped' })).outcome).toBe('completed')
  })

  it('SCALE-4 prevents changes of the history that it continues; a fork starts before it', async () => {
    await front.chat('One', { session: 'kept' })
    const open = createGate(bench.fake)
    const id = await begin('kept', 'Two')
    expect(await control(id, 'rewind', { turns: 1 })).toMatchObject({ status: 409 })
    expect(await control(id, 'compact')).toMatchObject({ status: 409 })
    const fork = await control(id, 'fork', { contact: 'forked' })
    expect(fork.status).toBeLessThan(300)
    open()
    await expect.poll(() => outcomesOf(id), patience).toEqual(['completed', 'completed'])
    const forked = await bench.query<{ id: string }>("select id from sessions where contact = 'forked'")
    expect(await outcomesOf(forked[0]?.id ?? '')).toEqual(['completed'])
    expect(await control(id, 'rewind', { turns: 1 })).toMatchObject({ status: 200 })
    await front.chat('Three', { session: 'kept' })
    const told = JSON.stringify(bench.fake.requests.at(-1)?.body)
    expect([told.includes('One'), told.includes('Two'), told.includes('Three')]).toEqual([true, false, true])
  })

  it('SCALE-4 ends with its session when that is reset from here', async () => {
    bench.fake.reply({ text: 'On and on', hang: true })
    const id = await begin('reset', 'Talk')
    await front.request('POST', '/api/v1/sessions/reset', { target: 'reset' })
    const after = await front.chat('Hello', { session: 'reset' })
    expect(after.session_id).not.toBe(id)
    expect(after.outcome).toBe('completed')
    await expect.poll(() => outcomesOf(id), patience).toEqual(['stopped'])
  })

  it('SEC-16 asks for an approval, and takes the answer that is given here', async () => {
    const call = { toolCalls: [{ name: 'erase_disk', input: { really: true } }] }
    bench.fake.reply(call)
    const asked = await front.chat('Erase it', { session: 'approving' })
    const { approvals } = await json<{ approvals: { id: string; session_id: string }[] }>(
      front.request('GET', '/api/v1/approvals'),
    )
    const mine = approvals.find(({ session_id }) => session_id === asked.session_id)
    expect(guarded.sent).toEqual([])
    bench.fake.reply([call, { text: 'Erased.' }])
    const granted = await front.request('POST', `/api/v1/approvals/${mine?.id}`, { answer: 'approve' })
    expect(granted.status).toBe(200)
    await expect.poll(() => guarded.sent, patience).toEqual([{ really: true }])
    expect((await front.chat('Thank you', { session: 'approving' })).outcome).toBe('completed')
  })

  it('CLIENT-1 waits for the client of another daemon, and continues with its answer', async () => {
    const client_tools = [{ name: 'ring_bell', description: 'Rings.', input_schema: { type: 'object' } }]
    bench.fake.reply([{ toolCalls: [{ name: 'ring_bell', input: {} }] }, { text: 'It rang.' }])
    const message = { message: 'Ring!', session: 'ringing', client_tools }
    const asked = await json<ClientCallsReply>(front.request('POST', '/api/v1/chat', message))
    expect(asked.tool_calls).toMatchObject([{ name: 'ring_bell' }])
    const results = asked.tool_calls.map(({ id }) => ({ call_id: id, result: 'ding' }))
    const path = `/api/v1/sessions/${asked.session_id}/tool-results`
    expect(await json<ChatReply>(front.request('POST', path, { results }))).toMatchObject({ reply: 'It rang.' })
    const given = JSON.stringify(bench.fake.requests.at(-1)?.body)
    expect(given).toContain('ding')
  })
})

/** With the length of its secret, where it is asked for that. */
const sealedGreeting = `def run(args, context):
    text = "Hello, " + args["name"] + "!"
    return text + " " + str(len(context.secrets.SEAL)) if args.get("sealed") else text
`

describe.skipIf(whyNoPostgres())('changes at one daemon reach the other', () => {
  it('SCALE-1 users and their tokens', async () => {
    const { token } = await json<UserTokenReply>(front.request('POST', '/api/v1/local/users', { name: 'anna' }))
    const asAnna = { authorization: `Bearer ${token}` }
    const chat = () => worker.request('POST', '/api/v1/chat', { message: 'Hello' }, asAnna)
    expect((await chat()).status).toBe(200)
    const made = await json<MadeTokenReply>(front.request('POST', '/api/v1/local/tokens', { user: 'anna' }))
    const status = { headers: { authorization: `Bearer ${made.token}` } }
    const sessions = async () => (await fetch(`${worker.daemon.url}/api/v1/sessions`, status)).status
    expect(await sessions()).toBe(200)
    await front.request('POST', `/api/v1/local/tokens/${made.id}/revoke`, {})
    expect(await sessions()).toBe(401)
    expect((await chat()).status).toBe(200)
  })

  it('SCALE-1 blocks and pins are in the prompt, and gone from it', async () => {
    const asked = async () => {
      await front.chat('Hello', { session: 'pinned' })
      return JSON.stringify(bench.fake.requests.at(-1)?.body)
    }
    await front.request('PUT', '/api/v1/blocks/garden', { content: 'The quagga eats the roses.' })
    const pin = await front.request('POST', '/api/v1/pins', { label: 'garden' })
    expect(pin.status).toBeLessThan(300)
    await expect.poll(asked, patience).toContain('quagga')
    await front.request('PUT', '/api/v1/blocks/garden', { content: 'The okapi eats the roses.' })
    await expect.poll(asked, patience).toContain('okapi')
  })

  it('SCALE-5 a capability and its secret', async () => {
    const directory = join(bench.shared, 'greeter-as-written')
    const secrets = [{ name: 'SEAL', description: 'A seal' }]
    const files = greeterFiles({ 'main.py': sealedGreeting, 'manifest.json': greeterManifest({ secrets }) })
    mkdirSync(directory)
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
    const ask = (method: string, path: string, body: object) =>
      json<object>(front.request(method, `/api/v1/${path}`, body))
    expect(await ask('POST', 'local/capabilities/import', { directory })).toMatchObject({ ok: true, name: 'greeter' })
    const value = 'kestrel-41-lantern'
    expect(await ask('PUT', 'capabilities/greeter/secrets/SEAL', { value })).toMatchObject({ status: 200 })
    expect(await ask('POST', 'local/capabilities/greeter/approve', { version: 1 })).toMatchObject({ ok: true })
    const run = () =>
      json<{ value: string }>(
        worker.request('POST', '/api/v1/capabilities/greeter/run', { args: { name: 'Ada', sealed: true } }),
      )
    await expect.poll(run, patience).toMatchObject({ status: 200, value: 'Hello, Ada! 18' })
    // The key is where both of them see it, and in neither of their homes.
    expect([front.home, worker.home, bench.shared].map((place) => existsSync(join(place, 'key')))).toEqual([
      false,
      false,
      true,
    ])
  })

  it('SCALE-1 reloading the config', async () => {
    for (const { home } of [front, worker]) {
      writeFileSync(join(home, 'familiar.toml'), fleetToml(bench.shared).replace('fake/large', 'fake/small'))
    }
    expect(await front.daemon.reload()).toEqual([])
    await expect.poll(() => worker.daemon.model(), patience).toBe('fake/small')
  })
})
