import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Build } from '../../src/custom-tools/builder/builds.ts'
import { secretOwnerOf } from '../../src/custom-tools/built-catalog.ts'
import { buildEventSchema } from '../../src/protocol/custom-tools.ts'
import { waitFor } from '../support/wait-for.ts'
import { readEvents, type ServedFamiliar, serveFamiliar } from './http-support.ts'

const secret = 'sk-canary-3f6e01ab77'
const seen = { untrusted: false, private: false }
describe('builds over HTTP', () => {
  let served: ServedFamiliar
  let names = 0
  beforeAll(async () => {
    served = await serveFamiliar()
  })
  afterAll(() => served.close())

  const get = (path: string) => served.call({ path })
  const post = (path: string, body: object = {}) => served.call({ path, body })
  const begin = () => {
    names += 1
    return served.capabilities.requestBuild(served.familiar.userId, `weather_${names}`)
  }
  const open = async (path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> =>
    (await served.open({ path, headers: { accept: 'text/event-stream', ...headers } })).response
  const eventsOf = ({ id }: Build) => `/api/v1/builds/${id}/events`
  const report = (build: Build, message: string) => served.capabilities.desk.report(build, { callId: message, message })
  const complete = (build: Build) => served.capabilities.complete(build)
  const withoutEnd = new AbortController().signal
  /** The one question that a build asks. */
  const questionOf = (build: Build) =>
    waitFor(async () => {
      const { questions } = (await get('/api/v1/builds/questions')).json as { questions: Record<string, string>[] }
      const asked = questions.find(({ build_id }) => build_id === build.id)
      expect(asked).toBeDefined()
      return asked ?? {}
    })

  it('CAP-7 two readers see every event once, one of which goes away in the middle and comes back', async () => {
    const build = await begin()
    await report(build, 'Step 1')
    const steady = readEvents(await open(eventsOf(build)))
    const leaving = await open(eventsOf(build))
    const before = readEvents(leaving, ({ data }) => data.message === 'Step 2')
    await report(build, 'Step 2')
    const first = await before
    leaving.destroy()
    await report(build, 'Step 3')
    const back = readEvents(await open(`${eventsOf(build)}?after=0`, { 'last-event-id': first.at(-1)?.id ?? '' }))
    await report(build, 'Step 4')
    await complete(build)

    const all = await steady
    expect([...first, ...(await back)]).toEqual(all)
    expect(all.map(({ id }) => Number(id))).toEqual(all.map((_, at) => at + 1))
    expect(all.map(({ data }) => data.message)).toEqual(
      expect.arrayContaining(['Step 1', 'Step 2', 'Step 3', 'Step 4']),
    )
    expect(all.filter(({ data }) => data.type === 'complete')).toHaveLength(1)
    for (const { id, name, data } of all) {
      expect({ name, seq: String(buildEventSchema.parse(data).seq) }).toEqual({ name: 'message', seq: id })
    }
    // A client that has seen the end and reconnects learns that there is no more.
    const over = await served.call({
      path: eventsOf(build),
      headers: { accept: 'text/event-stream', 'last-event-id': all.at(-1)?.id ?? '' },
    })
    expect(over).toMatchObject({ status: 204, text: '' })
  })

  it('CAP-7 without events asked for, what there is so far comes as JSON', async () => {
    const build = await begin()
    await report(build, 'Step 1')
    const all = (await get(eventsOf(build))).json.events as { seq: number; message: string }[]
    expect(all.at(-1)).toMatchObject({ type: 'progress', message: 'Step 1', build_id: build.id })
    const after = all.at(-2)?.seq
    expect((await get(`${eventsOf(build)}?after=${after}`)).json.events).toEqual(all.slice(-1))
    const headers = { accept: 'text/event-stream' }
    for (const [path, status] of [
      [`${eventsOf(build)}?after=-1`, 400],
      [`${eventsOf(build)}?after=x`, 400],
      ['/api/v1/builds/nothing/events', 404],
    ] as const) {
      expect((await served.call({ path, headers })).status, path).toBe(status)
    }
    const badCursor = { path: eventsOf(build), headers: { ...headers, 'last-event-id': '1e3' } }
    expect((await served.call(badCursor)).status).toBe(400)
    expect((await served.call({ method: 'HEAD', path: eventsOf(build), headers })).status).toBe(400)
  })

  it('CAP-7 the path of the seed streams the same, as messages of a type and its payload', async () => {
    const build = await begin()
    await report(build, 'Writing the code')
    await complete(build)
    const path = `/api/builder/status?buildId=${build.id}`
    const events = await readEvents(await open(path))
    expect(events.every(({ name }) => name === 'message')).toBe(true)
    expect(events.map(({ data }) => data)).toContainEqual({ type: 'progress', message: 'Writing the code' })
    expect(events.at(-1)?.data).toMatchObject({ type: 'complete', name: build.name, version: 1 })
    const back = await readEvents(await open(path, { 'last-event-id': events.at(-2)?.id ?? '' }))
    expect(back).toEqual(events.slice(-1))
    expect((await get('/api/builder/status')).status).toBe(400)
    expect((await get('/api/builder/status?buildId=nothing')).status).toBe(404)
    expect((await served.call({ method: 'HEAD', path })).status).toBe(400)
  })

  it('CAP-7 a question is answered once, and the build hears it', async () => {
    const build = await begin()
    const ask = { build, callId: 'call-1', question: 'Which unit?', seen, signal: withoutEnd }
    const answered = served.capabilities.desk.ask(ask)
    const asked = await questionOf(build)
    expect(asked).toMatchObject({ kind: 'question', question: 'Which unit?', secret: null, name: build.name })
    const path = `/api/v1/builds/questions/${asked.id}`
    expect((await post(`${path}/secret`, { value: secret })).status).toBe(400)
    expect((await post(path, { answer: '' })).status).toBe(400)
    expect((await post(path, { answer: 'Celsius' })).json).toEqual({ ok: true })
    expect(await answered).toMatchObject({ text: 'Celsius' })
    expect(await post(path, { answer: 'Kelvin' })).toMatchObject({ status: 409, json: { code: 'conflict' } })
    expect((await post('/api/v1/builds/questions/nothing', { answer: 'x' })).status).toBe(404)
    expect((await get(eventsOf(build))).text).toContain('Celsius')
  })

  it.each([
    ['the form of its question', 'POST', (_build: Build, id: string) => `/api/v1/builds/questions/${id}/secret`],
    ['the name of the capability', 'PUT', ({ name }: Build) => `/api/v1/capabilities/${name}/secrets/API_KEY`],
  ])(
    'SEC-13 a secret that a build asks for goes into the vault by %s, and is in no event',
    async (_way, method, pathOf) => {
      const { userId } = served.familiar
      const build = await begin()
      const ask = {
        build,
        callId: 'call-1',
        secret: 'API_KEY',
        description: 'For the weather',
        seen,
        signal: withoutEnd,
      }
      const isSet = served.capabilities.desk.requestSecret(ask)
      const asked = await questionOf(build)
      expect(asked).toMatchObject({ kind: 'secret', secret: 'API_KEY' })
      // As an answer it would go through the model.
      expect((await post(`/api/v1/builds/questions/${asked.id}`, { answer: secret })).status).toBe(400)
      const path = pathOf(build, asked.id ?? '')
      expect(await served.call({ method, path, body: { value: secret } })).toMatchObject({ status: 200 })
      expect(await isSet).toBe(true)
      expect(await served.capabilities.secretOf({ userId, owner: secretOwnerOf(build.name), name: 'API_KEY' })).toBe(
        secret,
      )
      expect((await get(eventsOf(build))).text).not.toContain(secret)
      const rows = await served.familiar.database.read.selectFrom('build_questions').selectAll().execute()
      expect(JSON.stringify(rows)).not.toContain(secret)
    },
  )

  it('CAP-3 lists builds, newest first, and stops one', async () => {
    const older = await begin()
    const newer = await begin()
    const listed = (await get('/api/v1/builds?state=running&limit=2')).json.builds as { id: string }[]
    expect(listed.map(({ id }) => id)).toEqual([newer.id, older.id])
    expect((await get(`/api/v1/builds?name=${older.name}`)).json.builds).toMatchObject([{ id: older.id }])
    expect((await get(`/api/v1/builds/${older.id}`)).json).toMatchObject({
      name: older.name,
      kind: 'build',
      error: null,
    })
    expect((await post(`/api/v1/builds/${older.id}/stop`)).json).toEqual({ stopped: true })
    expect((await post(`/api/v1/builds/${older.id}/stop`)).json).toEqual({ stopped: false })
    expect((await get(`/api/v1/builds/${older.id}`)).json).toMatchObject({ state: 'stopped' })
    const events = await readEvents(await open(eventsOf(older)))
    // Sent as a message, so that no client treats it as an error of the stream.
    expect(events.at(-1)).toMatchObject({ name: 'message', data: { type: 'error' } })
    expect((await post('/api/v1/builds/nothing/stop')).status).toBe(404)
  })
})
