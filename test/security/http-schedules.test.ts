import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createManualClock } from '../support/manual-clock.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Call, type ServedFamiliar, serveFamiliar } from './http-support.ts'

const base = '/api/v1/schedules'
const toml = '[memory]\nconversations = false\nextraction = false\n'

describe('schedules over HTTP', () => {
  const clock = createManualClock(Date.parse('2026-11-15T09:00:00Z'))
  let served: ServedFamiliar
  beforeAll(async () => {
    served = await serveFamiliar({ clock, toml })
  })
  afterAll(() => served.close())

  const post = (body: object, path = base) => served.call({ path, body })
  const get = (path = base) => served.call({ path })

  it('SCHED-1 makes, lists, shows, sends and cancels one', async () => {
    const made = await post({
      cron: '0 7 * * 1-5',
      message: 'Sum up the day',
      name: 'digest',
      time_zone: 'Europe/Malta',
    })
    expect(made).toMatchObject({ status: 201 })
    expect(made.json).toEqual({
      id: expect.any(String),
      name: 'digest',
      kind: 'cron',
      expression: '0 7 * * 1-5',
      time_zone: 'Europe/Malta',
      message: 'Sum up the day',
      channel: 'http',
      session: 'main',
      catch_up: 'latest',
      author: 'user',
      trust: 'owner',
      state: 'active',
      next_at: '2026-11-16T06:00:00.000Z',
      created_at: '2026-11-15T09:00:00.000Z',
    })
    const one = `${base}/${made.json.id}`
    expect((await get()).json).toEqual({ schedules: [{ ...made.json, last_run: null }] })
    const ran = await post({}, `${one}/run`)
    expect(ran).toMatchObject({
      status: 200,
      json: { state: 'delivered', message_id: expect.any(String), error: null },
    })
    expect((await get(one)).json).toEqual({ ...made.json, runs: [ran.json] })
    await clock.advance(Date.parse('2026-11-16T06:00:00Z') - clock.now())
    await waitFor(async () =>
      expect((await get()).json).toMatchObject({
        schedules: [{ last_run: { due_at: '2026-11-16T06:00:00.000Z', state: 'delivered' } }],
      }),
    )
    const cancelled = await served.call({ path: one, method: 'DELETE' })
    expect(cancelled).toMatchObject({ status: 200, json: { state: 'cancelled', next_at: null } })
    expect((await get()).json).toEqual({ schedules: [] })
    expect((await get(`${base}?all=true`)).json.schedules).toHaveLength(1)
    expect((await post({}, `${one}/run`)).status).toBe(409)
  })

  it('SCHED-1 a heartbeat is made by the user alone, and one for each session', async () => {
    const made = await post({}, `${base}/heartbeat`)
    expect(made).toMatchObject({ status: 201, json: { kind: 'heartbeat', expression: '*/30 * * * *' } })
    expect((await post({ every: '2h' }, `${base}/heartbeat`)).status).toBe(409)
    expect((await post({ every: '7m', session: 'b' }, `${base}/heartbeat`)).status).toBe(400)
  })

  it.each([
    {},
    { message: 'x' },
    { message: 'x', at: 'noon', cron: '*/30' },
    { at: 'noon' },
    { message: '  ', at: 'noon' },
    { message: 'x', at: 'never' },
    { message: 'x', at: 'noon', catch_up: 'some' },
    { message: 'x', at: 'noon', trust: 'owner' },
    { message: 'x', at: 'noon', author: 'agent' },
    { message: 'x', at: 'noon', channel: 'builder' },
    { message: 'x', at: 'noon', time_zone: '../../etc' },
  ])('HTTP-2 refuses %j', async (body) => expect((await post(body)).status).toBe(400))

  it('SEC-22 every route with another user’s ids: not found, and nothing revealed', async () => {
    const { database } = served.familiar
    const row = { id: 'user-2', name: 'Eve', role: 'user', created_at: 0 } as const
    await database.write((writer) => writer.insertInto('users').values(row).execute())
    const { sessionId } = await served.familiar.say('Hello')
    const mine = (await post({ at: 'tomorrow', message: 'Zanzibar' })).json
    const token = await served.tokenFor('owner', 'user-2')
    const unknown = mine.id?.toString().replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))
    const attempts: Record<string, (id: unknown) => Call> = {
      [`GET ${base}/:id`]: (id) => ({ path: `${base}/${id}` }),
      [`DELETE ${base}/:id`]: (id) => ({ path: `${base}/${id}`, method: 'DELETE' }),
      [`POST ${base}/:id/run`]: (id) => ({ path: `${base}/${id}/run`, body: {} }),
      [`POST ${base}`]: () => ({ path: base, body: { at: 'tomorrow', message: 'x', session: sessionId } }),
      [`POST ${base}/heartbeat`]: () => ({ path: `${base}/heartbeat`, body: { session: sessionId } }),
    }
    const routes = served.routes
      // A preview contains no user data.
      .filter(({ path }) => path.startsWith(base) && !path.endsWith('/preview'))
      .map(({ method, path }) => `${method} ${path}`)
    expect(routes.sort()).toEqual([`GET ${base}`, ...Object.keys(attempts)].sort())
    for (const [route, attempt] of Object.entries(attempts)) {
      const [theirs, nobodys] = [
        await served.call({ ...attempt(mine.id), token }),
        await served.call({ ...attempt(unknown), token }),
      ]
      // HEARTBEAT.md is the owner's: no other user has a heartbeat, whatever it names.
      expect(theirs.status).toBe(route.endsWith('heartbeat') ? 403 : 404)
      expect(theirs.text.replaceAll(String(mine.id), '')).toBe(nobodys.text.replaceAll(String(unknown), ''))
    }
    const listed = await served.call({ path: `${base}?all=true`, token })
    expect(listed.json).toEqual({ schedules: [] })
    expect((await get(`${base}/${mine.id}`)).json).toMatchObject({ state: 'active', runs: [] })
  })

  it('SEC-3 a token that may only read changes nothing', async () => {
    const token = await served.tokenFor('read')
    const body = { at: 'tomorrow', message: 'x' }
    expect((await served.call({ path: base, body, token })).status).toBe(403)
    expect((await served.call({ path: `${base}/heartbeat`, body: {}, token })).status).toBe(403)
    expect((await served.call({ path: base, token })).status).toBe(200)
  })
})
