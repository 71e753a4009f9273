import { createHmac, randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import type { TriggeredTool } from '../../src/daemon/scheduler/trigger-runs.ts'
import type { Json } from '../../src/protocol/messages.ts'
import { createManualClock, type ManualClock } from '../support/manual-clock.ts'
import { cronTool, ranWith } from '../support/triggers.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Answer, type ServedFamiliar, serveFamiliar } from './http-support.ts'

const secret = 'a-secret-that-only-two-know'
const mail: TriggeredTool = { name: 'mail', trigger: { kind: 'webhook' }, prompt: 'Mail:', notifiesByDefault: true }

interface Hook {
  tool?: string
  body?: string
  secret?: string
  /** Seconds from now. */
  off?: number
  nonce?: string
  headers?: Record<string, string | null>
  path?: string
}

let served: ServedFamiliar
let clock: ManualClock
let given: Json[]
let hold: Promise<void> | undefined

async function serve(options: Parameters<typeof serveFamiliar>[0] = {}): Promise<void> {
  clock = createManualClock()
  given = []
  hold = undefined
  served = await serveFamiliar({
    clock,
    settings: { maxHookBytes: 512_000 },
    triggered: {
      tools: [mail, cronTool('digest', '0 7 * * *')],
      secret,
      async run({ params }) {
        given.push(params)
        await hold
        return ranWith({ text: 'a new mail' })
      },
    },
    ...options,
  })
}

afterEach(() => served.close())

function call(hook: Hook = {}): Promise<Answer> {
  const { tool = 'mail', body = '{"subject":"hello"}', off = 0, nonce = randomUUID() } = hook
  const timestamp = String(Math.floor(clock.now() / 1_000) + off)
  const signature = createHmac('sha256', hook.secret ?? secret)
    .update(`${timestamp}.${nonce}.${body}`)
    .digest('hex')
  return served.call({
    method: 'POST',
    path: hook.path ?? `/hooks/${tool}`,
    token: null,
    ...(body !== '' && { body }),
    headers: {
      'x-familiar-timestamp': timestamp,
      'x-familiar-nonce': nonce,
      'x-familiar-signature': signature,
      ...hook.headers,
    },
  })
}

async function rows() {
  return served.familiar.database.read.selectFrom('trigger_runs').selectAll().where('kind', '=', 'webhook').execute()
}

describe('a signed webhook', () => {
  it('TOOL-7 is written down when it is answered, runs its tool, and its output goes the way of cron', async () => {
    await serve()
    const wait = Promise.withResolvers<void>()
    hold = wait.promise
    const { status, json } = await call()
    expect(status).toBe(202)
    expect(await rows()).toMatchObject([{ id: json.run_id, tool: 'mail', kind: 'webhook' }])
    wait.resolve()
    await waitFor(async () => expect(await rows()).toMatchObject([{ state: 'done', input: null }]))
    expect(given).toEqual([{ subject: 'hello', body: '{"subject":"hello"}' }])
    const { conversations, userId } = served.familiar
    await waitFor(async () => {
      await clock.advance(1_000)
      const session = await conversations.findSession(userId, 'main')
      const events = session ? await conversations.history(userId, session.id) : []
      expect(events).toContainEqual(
        expect.objectContaining({
          type: 'message_received',
          source: 'webhook',
          text: 'Mail:\n\n[TOOL:mail]\na new mail\n[/TOOL]',
        }),
      )
    })
  })

  it('TOOL-7 works under both paths, with and without a body, JSON or not', async () => {
    await serve()
    const bytes = { 'content-type': 'application/octet-stream' }
    expect((await call({ path: '/api/v1/hooks/mail', body: '[1,2]' })).status).toBe(202)
    expect((await call({ body: '' })).status).toBe(202)
    expect((await call({ body: 'not JSON', headers: bytes })).status).toBe(202)
    expect((await call({ body: '{"body":"its own","__proto__":{"x":1}}' })).status).toBe(202)
    await waitFor(() => expect(given).toHaveLength(4))
    expect(given.map((params) => JSON.stringify(params)).sort()).toEqual([
      '{"body":""}',
      '{"body":"[1,2]"}',
      '{"body":"its own","__proto__":{"x":1}}',
      '{"body":"not JSON"}',
    ])
  })

  it('TOOL-7 is worked on one after another for one tool', async () => {
    await serve()
    const wait = Promise.withResolvers<void>()
    hold = wait.promise
    for (let index = 0; index < 5; index += 1) expect((await call()).status).toBe(202)
    await waitFor(() => expect(given).toHaveLength(1))
    expect((await rows()).map(({ state }) => state).sort()).toEqual([
      'running',
      'scheduled',
      'scheduled',
      'scheduled',
      'scheduled',
    ])
    wait.resolve()
    await waitFor(() => expect(given).toHaveLength(5))
  })
})

describe('rejected calls', () => {
  it('TOOL-7 a wrong signature and an unknown tool get the same answer, and leave nothing behind', async () => {
    await serve()
    const answers = await Promise.all([
      call({ secret: 'a guess' }),
      call({ tool: 'nobody' }),
      call({ tool: 'digest' }),
      call({ tool: 'nobody', secret: 'a guess' }),
      call({ headers: { 'x-familiar-signature': null } }),
      call({ headers: { 'x-familiar-signature': 'zz' } }),
      call({ headers: { 'x-familiar-nonce': null } }),
      call({ headers: { 'x-familiar-timestamp': null } }),
      call({ headers: { 'x-familiar-timestamp': '12 ' } }),
      call({ secret: 'a guess', off: -10_000 }),
    ])
    for (const { status, text, headers } of answers) {
      expect({ status, text }).toEqual({ status: 401, text: answers[0]?.text })
      expect(Object.keys(headers).sort()).toEqual(Object.keys(answers[0]?.headers ?? {}).sort())
    }
    expect(await rows()).toEqual([])
  })

  it('TOOL-7 a body that is not the one that was signed', async () => {
    await serve()
    const timestamp = String(Math.floor(clock.now() / 1_000))
    const nonce = 'nonce-nonce'
    const signature = createHmac('sha256', secret).update(`${timestamp}.${nonce}.{"a":"1.5"}`).digest('hex')
    const send = (body: string, used: string) =>
      served.call({
        path: '/hooks/mail',
        token: null,
        body,
        headers: {
          'x-familiar-timestamp': timestamp,
          'x-familiar-nonce': used,
          'x-familiar-signature': signature,
          'content-type': 'application/octet-stream',
        },
      })
    expect((await send('{"a":"2.5"}', nonce)).status).toBe(401)
    // The same bytes are signed where the nonce takes the beginning of the body: another nonce, and so a replay.
    expect((await send('5"}', `${nonce}.{"a":"1`)).status).toBe(401)
    expect((await send('{"a":"1.5"}', nonce)).status).toBe(202)
  })

  it.each([
    ['TOOL-7 a timestamp 301 seconds old', -301, 401],
    ['TOOL-7 a timestamp 301 seconds ahead', 301, 401],
    ['TOOL-7 not one of 300 seconds', -300, 202],
    ['TOOL-7 nor one of 300 seconds ahead', 300, 202],
  ])('%s', async (_name, off, status) => {
    await serve()
    const answer = await call({ off })
    expect(answer.status).toBe(status)
    if (status === 401) expect(answer.json.error).toBe('The timestamp is 301 seconds off; the limit is 300.')
    expect(await rows()).toHaveLength(status === 202 ? 1 : 0)
  })

  it('TOOL-7 a replay, at once and as long as its timestamp holds', async () => {
    await serve()
    const nonce = randomUUID()
    // Sent with a clock that is ahead, it can be sent again for nearly ten minutes.
    expect((await call({ nonce, off: 300 })).status).toBe(202)
    const again = await call({ nonce, off: 300 })
    expect(again).toMatchObject({ status: 409, json: { code: 'conflict', error: 'This nonce was already used.' } })
    await clock.advance(599_000)
    expect((await call({ nonce: randomUUID() })).status).toBe(202)
    expect((await call({ nonce, off: -299 })).status).toBe(409)
    expect(await rows()).toHaveLength(2)
  })

  it('TOOL-7 forgets nonces that can do no harm any more', async () => {
    await serve()
    for (let index = 0; index < 3; index += 1) await call()
    await clock.advance(601_000)
    await call()
    expect(await served.familiar.database.read.selectFrom('webhook_nonces').selectAll().execute()).toHaveLength(1)
  })

  it('TOOL-7 all but one of many calls that carry the same nonce at the same moment', async () => {
    await serve()
    const nonce = randomUUID()
    const answers = await Promise.all(Array.from({ length: 20 }, () => call({ nonce })))
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array.from({ length: 19 }, () => 409)])
    expect(await rows()).toHaveLength(1)
  })

  it('SEC-18 513 kB, whether they say so or not, and not 512', async () => {
    await serve()
    const large = 'x'.repeat(513_000)
    const headers = { 'content-type': 'application/octet-stream' }
    expect(await call({ body: large, headers })).toMatchObject({ status: 413, json: { code: 'payload_too_large' } })
    const chunked = await served.call({ path: '/hooks/mail', token: null, body: large, chunked: true, headers })
    expect(chunked.status).toBe(413)
    expect((await call({ body: 'x'.repeat(512_000), headers })).status).toBe(202)
    expect(await rows()).toHaveLength(1)
  })

  it('SEC-18 the 31st call in a minute, which says when to come again', async () => {
    await serve()
    const nonces = Array.from({ length: 31 }, () => randomUUID())
    for (const nonce of nonces.slice(0, 30)) {
      expect((await call({ nonce })).status).toBe(202)
      await clock.advance(1_000)
    }
    const refused = await call({ nonce: nonces[30] ?? '' })
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' }, headers: { 'retry-after': '30' } })
    // Its nonce was not used up: it may come again as it is.
    await clock.advance(30_000)
    expect((await call({ nonce: nonces[30] ?? '' })).status).toBe(202)
    expect((await call()).status).toBe(429)
  })

  it('SEC-18 wrong signatures take nothing from those who know the secret', async () => {
    await serve({ failuresPerMinute: 5 })
    const wrong = await Promise.all(Array.from({ length: 40 }, () => call({ secret: 'a guess' })))
    expect(wrong.filter(({ status }) => status === 401)).toHaveLength(5)
    expect(wrong.filter(({ status }) => status === 429)).toHaveLength(35)
    expect((await call()).status).toBe(202)
  })

  it('SEC-2 a form of a foreign page', async () => {
    await serve()
    expect((await call({ headers: { 'content-type': 'text/plain' } })).status).toBe(415)
  })
})

describe('the secret', () => {
  it('TOOL-7 is made for the owner, shown once, and takes the place of the one before', async () => {
    await serve()
    const { status, json } = await served.call({ method: 'POST', path: '/api/v1/tools/mail/hook' })
    expect({ status, json }).toEqual({
      status: 201,
      json: { path: '/hooks/mail', secret: expect.stringMatching(/^[\w-]{43}$/) },
    })
    expect((await call()).status).toBe(401)
    expect((await call({ secret: String(json.secret) })).status).toBe(202)
    const [row] = await served.familiar.database.read
      .selectFrom('secrets')
      .selectAll()
      .where('owner', '=', 'tool:mail')
      .execute()
    expect(JSON.stringify(row)).not.toContain(String(json.secret))
  })

  it('TOOL-7 is for tools that take webhooks, and for a token of the owner', async () => {
    await serve()
    const make = (tool: string, token?: string) =>
      served.call({ method: 'POST', path: `/api/v1/tools/${tool}/hook`, ...(token && { token }) })
    expect((await make('digest')).status).toBe(404)
    expect((await make('nobody')).status).toBe(404)
    expect((await make('mail', await served.tokenFor('chat'))).status).toBe(403)
    expect((await call()).status).toBe(202)
  })
})

describe('the runs', () => {
  it('TOOL-7 can be looked at, those to come, those missed and those that failed', async () => {
    await serve()
    await call()
    await waitFor(async () => expect(await rows()).toMatchObject([{ state: 'done' }]))
    const { status, json } = await served.call({ path: '/api/v1/tools/mail/runs' })
    expect(status).toBe(200)
    expect(json.runs).toEqual([
      {
        id: expect.any(String),
        tool: 'mail',
        kind: 'webhook',
        state: 'done',
        due_at: '2026-11-15T09:00:00.000Z',
        started_at: '2026-11-15T09:00:00.000Z',
        finished_at: '2026-11-15T09:00:00.000Z',
        is_late: false,
        error: null,
      },
    ])
    const all = await served.call({ path: '/api/v1/runs?limit=1' })
    expect(all.json.runs).toMatchObject([{ tool: 'digest', state: 'scheduled' }])
  })

  it('SEC-22 are the owner’s alone', async () => {
    await serve()
    await call()
    const row = { id: 'user-2', name: 'Ben', role: 'user', created_at: 0 } as const
    await served.familiar.database.write((writer) => writer.insertInto('users').values(row).execute())
    const token = await served.tokenFor('owner', 'user-2')
    expect((await served.call({ path: '/api/v1/runs', token })).json).toEqual({ runs: [] })
    expect((await served.call({ path: '/api/v1/tools/mail/runs', token })).json).toEqual({ runs: [] })
  })
})
