import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Call, type ServedFamiliar, serveFamiliar } from './http-support.ts'

const base = '/api/v1/memories'
const toml = '[memory]\nextraction = false\n[memory.embedding]\nprovider = "off"\n'
const tables = [
  'memories',
  'facts',
  'commitments',
  'entity_aliases',
  'fact_attributes',
  'memory_edges',
  'memory_changes',
  'memory_marks',
] as const

describe('memories of one user', () => {
  let served: ServedFamiliar
  let otherToken: string
  /** Ids and words of the first user; none of them may ever come to the second. */
  let mine: { note: string; second: string; fact: string; commitment: string; change: string; folder: string }

  beforeAll(async () => {
    served = await serveFamiliar({ toml })
    const { familiar } = served
    const { userId, database } = familiar
    const { memories, facts, commitments, aliases, graph, corrections, files } = familiar.memory
    await familiar.say('I am Quentin and I live in Zanzibar')
    await database.write(async (writer) => {
      const row = { id: 'user-2', name: 'Ben', role: 'user', created_at: 0 } as const
      await writer.insertInto('users').values(row).execute()
    })
    await served.users.refresh()
    otherToken = await served.tokenFor('owner', 'user-2')
    const add = async (content: string) =>
      (await memories.add({ userId, kind: 'note', content, source: 'user', title: 'Zanzibar title' })).memory.id
    const note = await add('The house in Zanzibar has a blue door')
    const second = await add('Zanzibar has a second note')
    const { fact } = await facts.write({
      userId,
      entity: 'Quentin',
      attribute: 'home',
      value: 'Zanzibar',
      source: 'user',
    })
    const { commitment } = await commitments.add({ userId, who: 'user', what: 'leave Zanzibar', source: 'user' })
    await aliases.add(userId, 'Quent', 'Quentin')
    await graph.link(userId, { sourceId: note, targetId: second, relation: 'zanzibar relation', weight: 1 })
    const edited = await corrections.edit(userId, note, { content: 'The house in Zanzibar has a red door' }, 'user')
    const folder = join(familiar.home, 'zanzibar')
    mkdirSync(folder)
    await files.addRoot(userId, folder)
    const change = edited.ok ? edited.changeId : ''
    mine = { note, second, fact: fact.id, commitment: commitment.id, change, folder }
  })
  afterAll(() => served.close())

  const lines = (text: string): Partial<Call> => ({ body: text, headers: { 'content-type': 'text/markdown' } })

  /** For every route what the second user may try, and how it ends. */
  const attempts = (): Record<string, [rest: string, call: Partial<Call>, status: number][]> => ({
    [`GET ${base}`]: [['', {}, 200]],
    [`POST ${base}`]: [['', { body: { content: 'The house has a blue door' } }, 201]],
    [`GET ${base}/search`]: [['/search?q=house%20Zanzibar%20blue%20door&explain=true', {}, 200]],
    [`POST ${base}/deep`]: [['/deep', { body: { question: 'Where is the house?' } }, 200]],
    [`GET ${base}/changes`]: [['/changes', {}, 200]],
    [`POST ${base}/undo`]: [
      ['/undo', { body: { change: mine.change } }, 404],
      ['/undo', { body: {} }, 404],
    ],
    [`POST ${base}/forget-everything`]: [['/forget-everything', { body: { about: 'Zanzibar', confirm: true } }, 200]],
    [`GET ${base}/facts`]: [
      ['/facts?entity=Quentin&history=true&count=true', {}, 200],
      ['/facts', {}, 200],
    ],
    [`POST ${base}/facts`]: [['/facts', { body: { entity: 'Quentin', attribute: 'home', value: 'Oslo' } }, 201]],
    [`POST ${base}/attributes`]: [['/attributes', { body: { attribute: 'home', is_multi_valued: true } }, 201]],
    [`GET ${base}/commitments`]: [['/commitments', {}, 200]],
    [`POST ${base}/commitments`]: [['/commitments', { body: { what: 'stay in Oslo' } }, 201]],
    [`PATCH ${base}/commitments/:id`]: [
      [`/commitments/${mine.commitment}`, { method: 'PATCH', body: { state: 'done' } }, 404],
    ],
    [`GET ${base}/aliases`]: [['/aliases', {}, 200]],
    [`POST ${base}/aliases`]: [['/aliases', { body: { alias: 'Q', entity: 'Ben' } }, 201]],
    [`DELETE ${base}/aliases`]: [['/aliases?alias=Quent&entity=Quentin', { method: 'DELETE' }, 404]],
    [`GET ${base}/graph`]: [
      [`/graph?ids=${mine.note}`, {}, 404],
      ['/graph', {}, 200],
    ],
    [`POST ${base}/edges`]: [
      ['/edges', { body: { source_id: mine.note, target_id: mine.second, relation: 'is' } }, 404],
    ],
    [`DELETE ${base}/edges`]: [
      [
        `/edges?source_id=${mine.note}&target_id=${mine.second}&relation=zanzibar%20relation`,
        { method: 'DELETE' },
        404,
      ],
    ],
    [`GET ${base}/roots`]: [['/roots', {}, 200]],
    // The files of the machine are its owner's.
    [`POST ${base}/roots`]: [['/roots', { body: { path: served.familiar.home } }, 403]],
    [`DELETE ${base}/roots`]: [[`/roots?path=${encodeURIComponent(mine.folder)}`, { method: 'DELETE' }, 404]],
    [`POST ${base}/sync`]: [['/sync', { body: {} }, 200]],
    [`POST ${base}/consolidate`]: [
      ['/consolidate', { body: { session: 'main' } }, 404],
      ['/consolidate', { body: {} }, 200],
    ],
    [`GET ${base}/export`]: [
      ['/export', {}, 200],
      ['/export?format=markdown', {}, 200],
    ],
    [`POST ${base}/import`]: [['/import', lines('- Oslo has a fjord\n'), 200]],
    [`GET ${base}/stats`]: [['/stats', {}, 200]],
    [`GET ${base}/:id`]: Object.values(mine).map((id) => [`/${encodeURIComponent(id)}`, {}, 404]),
    [`PATCH ${base}/:id`]: [[`/${mine.note}`, { method: 'PATCH', body: { content: 'Mine now' } }, 404]],
    [`POST ${base}/:id/keep`]: [[`/${mine.note}/keep`, { body: {} }, 404]],
    [`DELETE ${base}/:id`]: [
      [`/${mine.note}`, { method: 'DELETE' }, 404],
      ['/Zanzibar%20title', { method: 'DELETE' }, 404],
    ],
  })

  it('SEC-22 is unknown to another user on every route, and stays as it is whatever they do', async () => {
    await served.familiar.learning.idle()
    const before = await ownRows()
    const all = attempts()
    const routes = served.routes
      .filter(({ path }) => path.startsWith(base))
      .map(({ method, path }) => `${method} ${path}`)
    expect(Object.keys(all).sort()).toEqual(routes.sort())
    for (const [route, tries] of Object.entries(all)) {
      for (const [rest, call, status] of tries) {
        const answer = await served.call({ path: `${base}${rest}`, ...call, token: otherToken })
        expect({ route, rest, status: answer.status }).toEqual({ route, rest, status })
        // A refusal may repeat what the caller said.
        if (status >= 400) continue
        expect(answer.text, route).not.toMatch(/zanzibar/i)
        for (const id of Object.values(mine)) expect(answer.text, route).not.toContain(id)
      }
    }
    expect(await ownRows()).toEqual(before)
    const counts = await served.call({ path: `${base}/stats`, token: otherToken })
    expect(counts.json).toMatchObject({
      memories: { note: 2, fact: 1, commitment: 1 },
      aliases: 1,
      edges: 0,
      changes: 0,
    })
  })

  async function ownRows() {
    const { database, userId } = served.familiar
    const rows = tables.map((table) =>
      database.read.selectFrom(table).selectAll().where('user_id', '=', userId).execute(),
    )
    return (await Promise.all(rows)).map((own) => own.map((row) => JSON.stringify(row)).sort())
  }

  it('HTTP-2 only an owner’s token changes memories', async () => {
    for (const scope of ['read', 'chat'] as const) {
      const token = await served.tokenFor(scope)
      const post = (rest: string, body: object) => served.call({ path: `${base}${rest}`, body, token })
      expect((await post('', { content: 'x' })).status).toBe(403)
      expect((await post('/forget-everything', { about: 'Zanzibar', confirm: true })).status).toBe(403)
      expect((await served.call({ method: 'DELETE', path: `${base}/${mine.note}`, token })).status).toBe(403)
      expect((await served.call({ path: `${base}/${mine.note}`, token })).status).toBe(200)
      expect((await post('/deep', { question: 'door' })).status).toBe(scope === 'chat' ? 200 : 403)
    }
  })
})
