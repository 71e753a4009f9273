import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'

const blocks = '/api/v1/blocks'
const pins = '/api/v1/pins'
const local = '/api/v1/local/files'

describe('blocks and pins over HTTP', () => {
  let served: ServedFamiliar
  let other: string
  beforeAll(async () => {
    served = await serveFamiliar({ assets: true, settings: { maxBodyBytes: 100_000 } })
    const { database } = served.familiar
    await database.write(async (writer) => {
      await writer.insertInto('users').values({ id: 'eve', name: 'eve', role: 'user', created_at: 0 }).execute()
    })
    other = await served.tokenFor('owner', 'eve')
    mkdirSync(join(served.familiar.home, 'workspace'), { recursive: true })
    writeFileSync(join(served.familiar.home, 'workspace', 'diary.md'), 'a file of the workspace')
  })
  afterAll(() => served.close())

  const get = (path: string, token?: string) => served.call({ path, ...(token && { token }) })
  const put = (label: string, body: object, token?: string) =>
    served.call({ method: 'PUT', path: `${blocks}/${encodeURIComponent(label)}`, body, ...(token && { token }) })
  const post = (path: string, body: object, token?: string) => served.call({ path, body, ...(token && { token }) })

  it('ASSET-7 If-Match and If-None-Match guard a write, with 412 if they do not match', async () => {
    const path = `${blocks}/guarded`
    const write = (content: string, headers: Record<string, string>, more: object = {}) =>
      served.call({ method: 'PUT', path, body: { content, ...more }, headers })
    const refused = {
      status: 412,
      json: { code: 'precondition_failed', error: expect.stringContaining('Read it again') },
    }
    expect(await write('one', { 'if-match': '*' })).toMatchObject(refused)
    const { json } = await write('one', { 'if-none-match': '*' })
    expect(json).toMatchObject({ is_new: true })
    expect(await write('two', { 'if-none-match': '*' })).toMatchObject(refused)
    expect(await write('two', { 'if-match': '"0123"' })).toMatchObject(refused)
    expect((await get(path)).json).toMatchObject({ text: 'one' })
    expect(await write('two', { 'if-match': `"0123", "${json.etag}"` })).toMatchObject({ status: 200 })
    expect(await write('three', { 'if-match': `"${json.etag}"` })).toMatchObject(refused)
    expect(await write('three', { 'if-match': '*' })).toMatchObject({ status: 200 })
    expect(await write('four', { 'if-match': '*' }, { etag: null })).toMatchObject({ status: 400 })
    expect(await write('four', { 'if-none-match': '"0123"' })).toMatchObject({ status: 400 })
  })

  it('ASSET-7 writes, reads, edits and undoes a block, under one etag after the other', async () => {
    const written = await put('notes/trip', { content: 'To Gozo.\n', etag: null })
    expect(written).toMatchObject({
      status: 200,
      json: { path: 'familiar:///blocks/notes/trip.md', is_new: true, version: 1 },
    })
    const one = `${blocks}/notes%2Ftrip.md`
    const read = await get(one)
    expect(read.json).toMatchObject({ text: 'To Gozo.\n', lines: 1, trust: 'owner', etag: written.json.etag })
    expect(await put('notes/trip', { content: 'x', etag: null })).toMatchObject({
      status: 409,
      json: { code: 'conflict' },
    })
    const edited = await post(`${one}/edit`, { old: 'Gozo', new: 'Comino', etag: read.json.etag })
    expect(edited).toMatchObject({ status: 200, json: { count: 1, version: 2 } })
    expect(await post(`${one}/edit`, { old: 'Gozo', new: 'x' })).toMatchObject({ status: 409 })
    expect((await post(`${one}/undo`, {})).json).toMatchObject({ restored: 1, version: 3 })
    expect((await get(`${one}/history`)).json.versions).toMatchObject([
      { version: 3 },
      { version: 2 },
      { version: 1 },
      { was_there: false },
    ])
    expect((await get(`${one}/versions/2`)).json).toMatchObject({ version: 2, content: 'To Comino.\n' })
    expect((await get(`${one}/versions/0`)).json).toMatchObject({ version: 0, content: null })
    for (const wanted of ['9', '-1', 'x', '1.0']) expect((await get(`${one}/versions/${wanted}`)).status).toBe(404)
    expect((await get(`${blocks}?prefix=notes`)).json).toMatchObject({
      entries: [{ path: 'familiar:///blocks/notes/trip.md' }],
    })
  })

  it('ASSET-2 a block that was deleted is gone, until an undo brings it back', async () => {
    const { json } = await put('gone', { content: 'not for ever' })
    const remove = (etag: unknown) => served.call({ method: 'DELETE', path: `${blocks}/gone?etag=${etag}` })
    expect((await remove('old')).status).toBe(409)
    expect(await remove(json.etag)).toMatchObject({ status: 200, json: { etag: null, version: 2 } })
    expect((await get(`${blocks}/gone`)).status).toBe(404)
    expect((await remove(json.etag)).status).toBe(409)
    expect((await served.call({ method: 'DELETE', path: `${blocks}/gone` })).status).toBe(404)
    expect(await post(`${blocks}/gone/undo`, {})).toMatchObject({ status: 200, json: { restored: 1 } })
    expect((await get(`${blocks}/gone`)).json.text).toBe('not for ever')
  })

  it('ASSET-4 pins in an order, within the budget', async () => {
    await put('a', { content: 'tea '.repeat(600) })
    await put('b', { content: 'tea '.repeat(300) })
    expect(await post(pins, { label: 'a' })).toMatchObject({ status: 200, json: { position: 1, tokens: 600 } })
    expect(await post(pins, { label: 'b', position: 1 })).toMatchObject({ status: 200, json: { position: 1 } })
    expect((await get(pins)).json).toMatchObject({
      pins: [{ label: 'b.md' }, { label: 'a.md' }],
      tokens: 900,
      budget: 1_000,
    })
    const refused = await put('c', { content: 'tea '.repeat(200) })
    expect(refused).toMatchObject({
      status: 409,
      json: { error: expect.stringMatching(/^Block budget exceeded: .* would use 1,100 of 1,000 tokens/) },
    })
    expect((await served.call({ method: 'DELETE', path: `${pins}?label=a` })).json).toMatchObject({
      pins: [{ label: 'b.md' }],
    })
    expect((await served.call({ method: 'DELETE', path: `${pins}?label=a` })).status).toBe(404)
  })

  it('SEC-4 no label reaches a file, and no token but the credential in the home names a path', async () => {
    for (const label of ['diary.md', '../diary.md', '..%2fdiary.md', '/etc/passwd', 'file:///etc/passwd', '.', '~']) {
      const answer = await get(`${blocks}/${encodeURIComponent(label)}`)
      expect([400, 404], `${label} ${answer.status}`).toContain(answer.status)
      expect(answer.text).not.toContain('a file of the workspace')
    }
    expect((await get(`${blocks}?prefix=${encodeURIComponent('../../')}`)).status).toBe(400)
    const routes = served.routes.filter(({ path }) => path.startsWith(local))
    expect(routes).toHaveLength(6)
    for (const { path, isLocal } of routes) {
      expect(isLocal).toBe(true)
      expect(await post(path, { path: 'diary.md' })).toMatchObject({ status: 403 })
    }
    expect((await post(`${local}/read`, { path: 'diary.md' }, served.localToken)).json).toMatchObject({
      text: 'a file of the workspace',
    })
    expect(await post(`${local}/read`, { path: '../key' }, served.localToken)).toMatchObject({ status: 403 })
  })

  it("SEC-22 another user's blocks and pins are not there, by any route", async () => {
    await put('mine', { content: 'only mine' })
    await post(pins, { label: 'mine' })
    const one = `${blocks}/mine`
    const attempts = [
      await get(one, other),
      await get(`${one}/history`, other),
      await get(`${one}/versions/1`, other),
      await post(`${one}/edit`, { old: 'only', new: 'not' }, other),
      await post(`${one}/undo`, {}, other),
      await served.call({ method: 'DELETE', path: one, token: other }),
      await post(pins, { label: 'mine' }, other),
      await served.call({ method: 'DELETE', path: `${pins}?label=mine`, token: other }),
    ]
    for (const attempt of attempts) expect(attempt).toMatchObject({ status: 404 })
    expect((await get(blocks, other)).json).toEqual({ entries: [], is_cut: false })
    expect((await get(pins, other)).json).toMatchObject({ pins: [], tokens: 0 })
    await put('mine', { content: 'hers' }, other)
    expect((await get(one)).json).toMatchObject({ text: 'only mine' })
  })

  it('SEC-1 a read-only token writes and pins nothing', async () => {
    const reader = await served.tokenFor('read')
    const attempts = [
      await put('x', { content: 'x' }, reader),
      await post(`${blocks}/mine/edit`, { old: 'a', new: 'b' }, reader),
      await post(`${blocks}/mine/undo`, {}, reader),
      await served.call({ method: 'DELETE', path: `${blocks}/mine`, token: reader }),
      await post(pins, { label: 'mine' }, reader),
      await served.call({ method: 'DELETE', path: `${pins}?label=mine`, token: reader }),
    ]
    for (const attempt of attempts) expect(attempt).toMatchObject({ status: 403 })
    expect((await get(`${blocks}/mine`, reader)).status).toBe(200)
  })
})
