import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import * as api from '../../src/protocol/memory.ts'
import { parseWire, type Wire } from '../../src/protocol/operation.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { type Call, readEvents, type ServedFamiliar, serveFamiliar } from './http-support.ts'

const toml = '[memory]\nextraction = false\n[memory.embedding]\nprovider = "off"\n'
const learnt = JSON.stringify({
  episode: null,
  facts: [{ entity: 'Ruth', attribute: 'lives in', value: 'Porto', confidence: 0.9 }],
})

describe('memory over HTTP', () => {
  let served: ServedFamiliar
  beforeAll(async () => {
    const model = createScriptedModel({
      script: ({ system }) => ({ text: system.some(({ name }) => name === 'consolidation') ? learnt : 'Hello.' }),
    })
    const routes = { primary: [model], fast: [model] }
    served = await serveFamiliar({
      model: routes,
      toml,
      settings: { maxBodyBytes: 3_000_000, maxImportBytes: 100_000 },
    })
  })
  afterAll(() => served.close())

  const path = (rest: string) => `/api/v1/memories${rest}`
  async function ask<Schema extends z.ZodType>(
    schema: Schema,
    rest: string,
    call: Partial<Call> = {},
    status = 200,
  ): Promise<Wire<Schema>> {
    const answer = await served.call({ path: path(rest), ...call })
    expect({ status: answer.status, text: answer.text.slice(0, 500) }).toEqual({ status, text: expect.any(String) })
    return parseWire(schema, answer.json)
  }
  const refused = async (rest: string, call: Partial<Call> = {}): Promise<[number, unknown]> => {
    const { status, json } = await served.call({ path: path(rest), ...call })
    return [status, json.error]
  }
  /** A folder is named by the command line of the machine itself alone (SEC-4). */
  const local = (body: object): Partial<Call> => ({ body, token: served.localToken })
  const add = async (content: string, more: object = {}) =>
    (await ask(api.addedMemoryReplySchema, '', { body: { content, ...more } }, 201)).memory
  const search = async (q: string, more = '') =>
    (await ask(api.memorySearchReplySchema, `/search?q=${encodeURIComponent(q)}${more}`)).results

  it('MEM-1 POST /memories keeps a note as the user’s own, once', async () => {
    const body = { content: 'The spare key is with Ruth', title: 'Spare key', category: 'home', tags: ['key'] }
    const first = await ask(api.addedMemoryReplySchema, '', { body: { ...body, priority: 0.9 } }, 201)
    expect(first).toMatchObject({
      is_new: true,
      memory: { ...body, kind: 'note', tier: 'long_term', priority: 0.9, source: 'user', label: 'owner', file: null },
    })
    expect(first.memory.citation).toBe(`memory:${first.memory.id}`)
    const again = await ask(api.addedMemoryReplySchema, '', { body: { content: body.content } }, 201)
    expect(again).toMatchObject({ is_new: false, memory: { id: first.memory.id } })
  })

  it('MEM-1 GET /memories lists by kind, page by page, each once', async () => {
    for (let number = 1; number <= 7; number += 1) await add(`Page ${number} of the diary`)
    const ids: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = `?limit=3&kind=note${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
      const page: api.MemoriesReply = await ask(api.memoriesReplySchema, query)
      expect(page.memories.length).toBeLessThanOrEqual(3)
      ids.push(...page.memories.map(({ id }) => id))
      cursor = page.next_cursor
    }
    const whole = await ask(api.memoriesReplySchema, '?limit=500&kind=note')
    expect(ids).toEqual(whole.memories.map(({ id }) => id))
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBeGreaterThanOrEqual(8)
    expect((await ask(api.memoriesReplySchema, '?kind=episode')).memories).toEqual([])
  })

  it('MEM-1 GET /memories and its search filter by retention, source, tag and day', async () => {
    const { userId, memory } = served.familiar
    const told = { userId, kind: 'note', source: 'extracted', tags: ['gar', 'a "garden"'] } as const
    const at = Date.parse('2025-03-03T12:00:00Z')
    const { memory: learned } = await memory.memories.add({ ...told, content: 'The hedge was cut', at })
    await memory.memories.add({ ...told, content: 'The hedge is green', tier: 'short_term', tags: ['garden'] })
    const contents = async (query: string) =>
      (await ask(api.memoriesReplySchema, `?${query}`)).memories.map(({ content }) => content)
    expect(await contents('source=extracted')).toEqual(['The hedge is green', 'The hedge was cut'])
    expect(await contents('source=extracted&tier=short_term')).toEqual(['The hedge is green'])
    expect(await contents('tag=garden')).toEqual(['The hedge is green'])
    expect(await contents(`tag=${encodeURIComponent('a "garden"')}`)).toEqual(['The hedge was cut'])
    expect(await contents('from=2025-03-03&until=2025-03-03')).toEqual(['The hedge was cut'])
    expect(await contents('from=2025-03-03T12:00:00.001Z&until=2025-03-05')).toEqual([])
    expect(await contents('source=extracted&kind=fact')).toEqual([])
    expect(await contents('source=extracted&passages=false')).toHaveLength(2)
    expect((await search('hedge', '&until=2025-03-03')).map((found) => found.memory.id)).toEqual([learned.id])
    expect((await search('hedge', '&tag=garden&source=user')).length).toBe(0)
    expect(await refused('?from=soon')).toEqual([400, expect.stringContaining('from: must be a day')])
  })

  it('MEM-11 POST /memories/:id/keep confirms a learned memory as the user’s own, and can be undone', async () => {
    const { userId, memory } = served.familiar
    const content = 'Ruth likes olives'
    const learned = {
      userId,
      kind: 'note',
      content,
      source: 'extracted',
      label: 'untrusted',
      tier: 'short_term',
    } as const
    const { id } = (await memory.memories.add(learned)).memory
    const kept = await ask(api.editedMemoryReplySchema, `/${id}/keep`, { body: {} })
    expect(kept.memory).toMatchObject({ content, source: 'user', label: 'owner', tier: 'long_term', priority: 0.8 })
    await ask(api.undoReplySchema, '/undo', { body: { change: kept.change_id } })
    const { memory: again, decay } = await ask(api.memoryDetailReplySchema, `/${id}`)
    expect(again).toMatchObject({ source: 'extracted', label: 'untrusted', tier: 'short_term', priority: 0.5 })
    expect(decay).toMatchObject({ policy: 'time', is_faded: false })
    expect(decay.points.some(({ offset }) => offset === 0)).toBe(true)
    const passage = { userId, kind: 'chunk', content: 'Heard elsewhere', source: 'extracted' } as const
    const heard = (await memory.memories.add(passage)).memory.id
    expect(await refused(`/${heard}/keep`, { body: {} })).toEqual([400, expect.stringContaining('cannot be kept')])
    expect(await refused('/nothing/keep', { body: {} })).toEqual([404, expect.any(String)])
  })

  it('MEM-4 GET /memories/search says with explain why each was found, and without it nothing of that', async () => {
    const [plain] = await search('Where is the spare key?')
    expect(plain).toMatchObject({ rank: 1, memory: { content: 'The spare key is with Ruth' } })
    expect(plain?.why).toBeUndefined()
    const [explained] = await search('Where is the spare key?', '&explain=true&limit=1')
    expect(explained?.why?.strength).toBeGreaterThan(0)
    expect(explained?.why?.signals.map(({ name }) => name)).toContain('words')
    expect(await search('spare key', '&kind=fact')).toEqual([])
  })

  it('MEM-11 PATCH and DELETE can be undone, and list the affected copies', async () => {
    const { id } = await add('The bicycle is in the cellar')
    const edited = await ask(api.editedMemoryReplySchema, `/${id}`, {
      method: 'PATCH',
      body: { content: 'The bicycle is in the shed', title: 'Bicycle', tags: ['bicycle'] },
    })
    expect(edited.memory).toMatchObject({ id, content: 'The bicycle is in the shed', title: 'Bicycle' })
    const shown = await ask(api.memoryDetailReplySchema, `/${id}`)
    expect(shown.history.changes).toMatchObject([
      { id: edited.change_id, action: 'edited', made_by: 'user', before: { content: 'The bicycle is in the cellar' } },
    ])
    const forgotten = await ask(api.forgottenMemoryReplySchema, `/${id}`, { method: 'DELETE' })
    expect(forgotten).toMatchObject({ memory: { id }, also_forgotten: [] })
    expect(await refused(`/${id}`)).toEqual([404, `There is no memory "${id}"`])
    expect(await search('bicycle')).toEqual([])
    const { changes } = await ask(api.changesReplySchema, '/changes?limit=2')
    expect(changes.map((change) => change.id)).toEqual([forgotten.change_id, edited.change_id])
    await ask(api.undoReplySchema, '/undo', { body: {} })
    expect((await search('bicycle'))[0]?.memory.content).toBe('The bicycle is in the shed')
    const undone = await ask(api.undoReplySchema, '/undo', { body: { change: edited.change_id } })
    expect(undone.change.before.content).toBe('The bicycle is in the cellar')
    expect((await search('bicycle'))[0]?.memory).toMatchObject({ content: 'The bicycle is in the cellar', title: null })
    expect((await refused('/undo', { body: { change: edited.change_id } }))[0]).toBe(404)
  })

  it('MEM-11 DELETE takes an exact title, too', async () => {
    const { id } = await add('Milk, bread and eggs', { title: 'To buy' })
    expect((await refused('/to%20buy', { method: 'DELETE' }))[0]).toBe(404)
    expect(await ask(api.forgottenMemoryReplySchema, '/To%20buy', { method: 'DELETE' })).toMatchObject({
      memory: { id },
    })
  })

  it('MEM-10 facts are stated, replaced, counted and kept as history', async () => {
    const state = (body: object) => ask(api.writtenFactReplySchema, '/facts', { body }, 201)
    const birthday = { entity: 'Anna', attribute: 'birthday', value: '3 May' }
    const first = await state(birthday)
    expect(first).toMatchObject({ outcome: 'added', fact: { ...birthday, confidence: 1, valid_to: null }, old: null })
    expect(await state(birthday)).toMatchObject({ outcome: 'confirmed', fact: { id: first.fact.id } })
    const second = await state({ ...birthday, value: '4 May' })
    expect(second).toMatchObject({ outcome: 'replaced', old: { id: first.fact.id, value: '3 May' } })
    const unsure = { ...birthday, value: '5 May', confidence: 0.4 }
    expect(await refused('/facts', { body: unsure })).toEqual([409, expect.stringMatching(/Anna: birthday is 4 May/)])
    const facts = async (query: string) => ask(api.factsReplySchema, `/facts?${query}`)
    expect((await facts('entity=Anna')).facts.map(({ value }) => value)).toEqual(['4 May'])
    const history = await facts('entity=anna&attribute=birthday&history=true&count=true')
    expect(history.facts.map(({ value }) => value)).toEqual(['4 May', '3 May'])
    expect(history.entities).toBe(1)
    const detail = await ask(api.memoryDetailReplySchema, `/${second.fact.id}`)
    expect(detail.fact).toMatchObject({ value: '4 May' })
    expect(detail.history.facts.map(({ value }) => value)).toEqual(['4 May', '3 May'])
  })

  it('MEM-10 an attribute that is declared so holds several values', async () => {
    const garden = (value: string) =>
      ask(api.writtenFactReplySchema, '/facts', { body: { entity: 'user', attribute: 'grows', value } }, 201)
    const body = { attribute: 'grows', is_multi_valued: true }
    expect(await ask(api.attributeReplySchema, '/attributes', { body }, 201)).toEqual(body)
    await garden('beans')
    expect(await garden('peas')).toMatchObject({ outcome: 'added' })
    const { facts } = await ask(api.factsReplySchema, '/facts?entity=user&attribute=grows')
    expect(facts.map(({ value }) => value).sort()).toEqual(['beans', 'peas'])
  })

  it('MEM-10 names are added, resolved and removed', async () => {
    const body = { alias: 'Bea', entity: 'Beatrice' }
    expect(await ask(api.addedAliasReplySchema, '/aliases', { body }, 201)).toEqual({ ...body, is_new: true })
    expect(await ask(api.addedAliasReplySchema, '/aliases', { body }, 201)).toMatchObject({ is_new: false })
    await ask(
      api.writtenFactReplySchema,
      '/facts',
      { body: { entity: 'Bea', attribute: 'occupation', value: 'marine biologist' } },
      201,
    )
    expect((await ask(api.factsReplySchema, '/facts?entity=Beatrice')).facts).toHaveLength(1)
    expect((await ask(api.aliasesReplySchema, '/aliases')).aliases).toEqual([body])
    const remove = { method: 'DELETE' }
    expect(await ask(api.removedReplySchema, '/aliases?alias=bea&entity=beatrice', remove)).toEqual({
      removed: true,
    })
    expect((await refused('/aliases?alias=bea&entity=beatrice', remove))[0]).toBe(404)
  })

  it('MEM-1 commitments are open until they are closed, and due by the end of their day', async () => {
    const body = { what: 'send the photos', to_whom: 'my sister', deadline: '2099-11-20' }
    const { commitment } = await ask(api.addedCommitmentReplySchema, '/commitments', { body }, 201)
    expect(commitment).toMatchObject({ who: 'user', state: 'open', deadline: '2099-11-20T23:59:59.999Z' })
    const list = async (query: string) =>
      (await ask(api.commitmentsReplySchema, `/commitments?${query}`)).commitments.map(({ id }) => id)
    expect(await list('state=open')).toEqual([commitment.id])
    const change = (edit: object) =>
      ask(api.commitmentReplySchema, `/commitments/${commitment.id}`, { method: 'PATCH', body: edit })
    expect(await change({ state: 'done' })).toMatchObject({ state: 'done', closed_at: expect.any(String) })
    expect(await list('state=open')).toEqual([])
    expect(await list('state=done&to_whom=My%20Sister')).toEqual([commitment.id])
    const moved = await change({ state: 'open', deadline: '2099-12-01T18:00:00+02:00' })
    expect(moved).toMatchObject({ state: 'open', deadline: '2099-12-01T16:00:00.000Z', closed_at: null })
    expect(await change({ deadline: null })).toMatchObject({ deadline: null })
    expect((await ask(api.memoryDetailReplySchema, `/${commitment.id}`)).commitment).toMatchObject({ state: 'open' })
  })

  it('MEM-12 memories are joined, walked and parted', async () => {
    const [one, two, three] = [await add('Graph one'), await add('Graph two'), await add('Graph three')]
    const edge = { source_id: one.id, target_id: two.id, relation: 'leads to' }
    expect(await ask(api.edgeReplySchema, '/edges', { body: edge }, 201)).toEqual({ ...edge, weight: 1 })
    const next = { source_id: two.id, target_id: three.id, relation: 'leads to', weight: 0.5 }
    await ask(api.edgeReplySchema, '/edges', { body: next }, 201)
    const walk = async (query: string) => {
      const { nodes, edges } = await ask(api.graphReplySchema, `/graph?${query}`)
      return { nodes: nodes.map(({ text, distance }) => [text, distance]), edges: edges.length }
    }
    expect(await walk(`ids=${one.id}&depth=1`)).toEqual({
      nodes: [
        ['Graph one', 0],
        ['Graph two', 1],
      ],
      edges: 1,
    })
    expect(await walk(`ids=${one.id}`)).toMatchObject({ nodes: { length: 3 }, edges: 2 })
    expect((await walk('limit=1')).nodes).toHaveLength(2)
    expect((await ask(api.memoryDetailReplySchema, `/${two.id}`)).edges).toHaveLength(2)
    expect(await refused('/edges', { body: { ...edge, target_id: one.id } })).toEqual([
      400,
      'target_id: must be another memory',
    ])
    const query = `/edges?${new URLSearchParams(edge)}`
    expect(await ask(api.removedReplySchema, query, { method: 'DELETE' })).toEqual({ removed: true })
    expect((await refused(query, { method: 'DELETE' }))[0]).toBe(404)
  })

  it('MEM-16 folders are added, brought up to date with progress, cited by line, and removed', async () => {
    const folder = join(served.familiar.home, 'notes')
    mkdirSync(folder)
    writeFileSync(join(folder, 'trip.md'), '# Lisbon\n\nThe ferry to Cacilhas leaves from Cais do Sodré.\n')
    const added = await ask(api.addedRootReplySchema, '/roots', local({ path: folder }), 201)
    expect(added).toMatchObject({ is_new: true, root: { is_workspace: false } })
    const events = await stream('/sync', { body: {} })
    expect(events.slice(0, -1).map(({ name }) => name)).toContain('progress')
    expect(events.at(-1)).toMatchObject({ name: 'result', data: { is_finished: true, files: 1, added: 1 } })
    expect(await ask(api.syncReplySchema, '/sync', { body: {} })).toMatchObject({ files: 1, added: 0 })
    const [found] = await search('When does the ferry to Cacilhas leave?')
    expect(found?.memory).toMatchObject({ kind: 'chunk', label: 'untrusted', citation: 'notes/trip.md:1-3' })
    expect(found?.memory.file).toMatchObject({ path: 'notes/trip.md', first_line: 1, last_line: 3 })
    const { roots, last_sync } = await ask(api.rootsReplySchema, '/roots')
    expect(roots).toContainEqual({ path: added.root.path, is_workspace: false, files: 1 })
    expect(last_sync).toMatchObject({ is_finished: true })
    const remove = `/roots?${new URLSearchParams({ path: folder })}`
    await ask(api.removedReplySchema, remove, { method: 'DELETE' })
    expect(await search('ferry to Cacilhas')).toEqual([])
    expect((await refused(remove, { method: 'DELETE' }))[0]).toBe(404)
    expect(await refused('/roots', local({ path: 'notes' }))).toEqual([400, expect.stringMatching(/^path: /)])
    expect(await refused('/roots', local({ path: '/nowhere/at/all' }))).toEqual([400, expect.stringMatching(/^path: /)])
  })

  it('MEM-16 a sync whose client has disconnected stops; finished work stays, and the next one continues', async () => {
    const folder = join(served.familiar.home, 'many')
    mkdirSync(folder)
    for (let number = 0; number < 150; number += 1) writeFileSync(join(folder, `${number}.md`), `Number ${number}\n`)
    await ask(api.addedRootReplySchema, '/roots', local({ path: folder }), 201)
    const opened = await open('/sync', { body: {} })
    await readEvents(opened.response, ({ name }) => name === 'progress')
    opened.request.destroy()
    let last: api.SyncReply | null = null
    await expect
      .poll(async () => {
        last = (await ask(api.rootsReplySchema, '/roots')).last_sync
        return last?.is_finished
      })
      .toBe(false)
    const report = await ask(api.syncReplySchema, '/sync', { body: {} })
    expect(report).toMatchObject({ is_finished: true, files: 150 })
    expect(report.added).toBeGreaterThan(0)
    expect(report.added).toBeLessThan(150)
    await ask(api.removedReplySchema, `/roots?${new URLSearchParams({ path: folder })}`, { method: 'DELETE' })
  })

  it('MEM-9 POST /memories/consolidate writes from a session or from all, once, and reports its progress', async () => {
    await served.familiar.say('My friend Ruth lives in Porto since last year.', { contact: 'ruth' })
    const events = await stream('/consolidate', { body: { session: 'ruth' } })
    expect(events.map(({ name }) => name)).toEqual(['progress', 'result'])
    expect(events[1]?.data).toMatchObject({ sessions: 1, added: { facts: 1 }, problems: [] })
    const all = await ask(api.consolidatedReplySchema, '/consolidate', { body: {} })
    expect(all).toMatchObject({ sessions: 1, added: { facts: 0 } })
    const { facts } = await ask(api.factsReplySchema, '/facts?entity=Ruth')
    expect(facts).toMatchObject([{ attribute: 'lives in', value: 'Porto' }])
    expect((await refused('/consolidate', { body: { session: 'nobody' } }))[0]).toBe(404)
  })

  it('MEM-7 POST /memories/deep returns the merged list, and reports its progress', async () => {
    const body = { question: 'Where is the spare key?' }
    const reply = await ask(api.deepRecallReplySchema, '/deep', { body })
    expect(reply.memories.map(({ memory }) => memory.content)).toContain('The spare key is with Ruth')
    expect(reply.summary).toContain('The spare key is with Ruth')
    const events = await stream('/deep', { body })
    expect(events.map(({ name, data }) => data.status ?? name)).toEqual(['expanding', 'searching', 'found', 'result'])
  })

  it('MEM-14 an export read in again is the same, in both formats', async () => {
    const jsonl = await served.call({ path: path('/export') })
    expect(jsonl.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
    const lines = jsonl.text.trimEnd().split('\n')
    for (const line of lines) expect(JSON.parse(line)).toBeTypeOf('object')
    const again = await importLines(jsonl.text)
    expect(again).toMatchObject({ format: 'jsonl', is_own: true, is_finished: true, problems: { count: 0 } })
    expect(again.added).toEqual({ memories: 0, edges: 0, names: 0 })
    expect((await served.call({ path: path('/export') })).text).toBe(jsonl.text)
    const markdown = await served.call({ path: path('/export?format=markdown') })
    expect(markdown.headers['content-type']).toBe('text/markdown; charset=utf-8')
    expect(markdown.text).toContain('The spare key is with Ruth')
    expect((await importLines(markdown.text, 'text/markdown')).added.memories).toBe(0)
  })

  it('MEM-14 POST /memories/import reports added, known and invalid lines, by number', async () => {
    const header = { familiar: 'memories', version: 1, user: 'somebody else' }
    const record = { type: 'memory', id: 'x1', kind: 'note', content: 'Imported: the attic', created_at: '2020-01-01' }
    const text = [header, record].map((line) => JSON.stringify(line)).join('\n')
    const reply = await importLines(`${text}\n{"type":"memory"}\nnot JSON\n`)
    expect(reply).toMatchObject({ is_own: false, added: { memories: 1 }, known: 0 })
    expect(reply.problems.first.map(({ line }) => line)).toEqual([3, 4])
    expect(await importLines(text)).toMatchObject({ added: { memories: 0 }, known: 1 })
    const [found] = await search('attic')
    expect(found?.memory).toMatchObject({
      source: 'import',
      label: 'untrusted',
      created_at: '2020-01-01T00:00:00.000Z',
    })
    const events = await stream('/import?label=owner', {
      body: '- The ladder is behind the shed\n',
      headers: { 'content-type': 'text/markdown' },
    })
    expect(events.at(-1)).toMatchObject({ name: 'result', data: { format: 'plain', added: { memories: 1 } } })
    expect((await search('ladder'))[0]?.memory.label).toBe('owner')
    const newer = JSON.stringify({ ...header, version: 99 })
    expect(await refused('/import', lines(newer))).toEqual([400, expect.stringMatching(/version 99/)])
    expect(await refused('/import', { method: 'POST' })).toEqual([400, expect.stringMatching(/^body: /)])
  })

  it('SEC-18 an import has a limit, also without a length, and leaves no file behind', async () => {
    const before = readdirSync(served.familiar.home)
    const large = lines('x'.repeat(100_001))
    expect((await refused('/import', large))[0]).toBe(413)
    expect((await refused('/import', { ...large, chunked: true }))[0]).toBe(413)
    expect(readdirSync(served.familiar.home)).toEqual(before)
  })

  it('MEM-14 POST /memories/forget-everything leaves nothing, and wants to be confirmed', async () => {
    await add('Aunt Zenobia lives in Graz')
    expect(await refused('/forget-everything', { body: { about: 'Zenobia' } })).toEqual([
      400,
      expect.stringMatching(/^confirm: /),
    ])
    const body = { about: 'Zenobia', confirm: true }
    expect(await ask(api.forgotEverythingReplySchema, '/forget-everything', { body })).toMatchObject({ memories: 1 })
    expect((await served.call({ path: path('/export') })).text).not.toContain('Zenobia')
    expect(await search('Zenobia')).toEqual([])
  })

  it('HTTP-1 GET /memories/stats counts what there is', async () => {
    const stats = await ask(api.memoryStatsReplySchema, '/stats')
    expect(stats.memories.note).toBeGreaterThan(8)
    expect(stats).toMatchObject({ embedding: null, learning: { extraction: null }, files: { files: 0 } })
    expect(stats.superseded).toBeGreaterThan(0)
    expect(stats.database_bytes).toBeGreaterThan(10_000)
  })

  const bad: [string, Partial<Call>, RegExp][] = [
    ['', { body: {} }, /^content: /],
    ['', { body: { content: ' \n' } }, /^content: needs some text/],
    ['', { body: { content: 'x', tier: 'for ever' } }, /^tier: /],
    ['', { body: { content: 'x', priority: 2 } }, /^priority: /],
    ['', { body: { content: 'x', tags: 'a' } }, /^tags: /],
    ['', { body: { content: 'x', source: 'agent' } }, /unknown key "source"/],
    ['?limit=0', {}, /^limit: /],
    ['?kind=dream', {}, /^kind: /],
    ['?cursor=nonsense', {}, /^cursor: /],
    ['/search', {}, /^q: /],
    ['/search?q=%20', {}, /^q: /],
    ['/search?q=x&explain=perhaps', {}, /^explain: /],
    ['/changes?limit=x', {}, /^limit: /],
    ['/facts', { body: { entity: 'Anna', attribute: 'birthday' } }, /^value: /],
    ['/facts', { body: { entity: ' ', attribute: 'a', value: 'b' } }, /^entity: /],
    ['/attributes', { body: { attribute: 'grows', is_multi_valued: false } }, /^is_multi_valued: /],
    ['/commitments', { body: { what: 'x', deadline: 'soon' } }, /^deadline: must be a day/],
    ['/commitments/x', { method: 'PATCH', body: {} }, /"state" or "deadline"/],
    ['/commitments/x', { method: 'PATCH', body: { state: 'expired' } }, /^state: /],
    ['/x', { method: 'PATCH', body: {} }, /needs something to change/],
    ['/aliases?alias=x', { method: 'DELETE' }, /^entity: /],
    ['/edges', { body: { source_id: 'a', target_id: 'b' } }, /^relation: /],
    ['/graph?depth=9', {}, /^depth: /],
    ['/deep', { body: { question: '' } }, /^question: /],
    ['/export?format=xml', {}, /^format: /],
    ['/import?label=gospel', { method: 'POST' }, /^label: /],
  ]
  it('HTTP-2 bad input is reported by the name of its field', async () => {
    for (const [rest, call, message] of bad) {
      expect([rest, ...(await refused(rest, call))]).toEqual([rest, 400, expect.stringMatching(message)])
    }
    expect(await refused('/roots', local({}))).toEqual([400, expect.stringMatching(/^path: /)])
  })

  const lines = (text: string, type = 'application/x-ndjson'): Partial<Call> => ({
    body: text,
    headers: { 'content-type': type },
  })
  const importLines = (text: string, type?: string): Promise<api.ImportReply> =>
    ask(api.importReplySchema, '/import', lines(text, type))

  function open(rest: string, call: Partial<Call>) {
    return served.open({ path: path(rest), ...call, headers: { ...call.headers, accept: 'text/event-stream' } })
  }
  async function stream(rest: string, call: Partial<Call>) {
    const { response } = await open(rest, call)
    expect(response.statusCode).toBe(200)
    return readEvents(response)
  }
})

it('MEM-14 an import may take longer to store than a request may take to arrive', async () => {
  const limits = { headersTimeoutMs: 100, requestTimeoutMs: 700 }
  const served = await serveFamiliar({ toml, limits, settings: { maxImportBytes: 100_000_000 } })
  // More than the buffers on the way hold.
  const filling = 'of a long list '.repeat(1_000)
  const notes = Array.from({ length: 1_000 }, (_, number) => `- Note ${number} ${filling}\n`).join('')
  const answer = await served.call({
    path: '/api/v1/memories/import',
    body: notes,
    headers: { 'content-type': 'text/markdown' },
  })
  expect(answer).toMatchObject({ status: 200, json: { is_finished: true, added: { memories: 1_000 } } })
  await served.close()
})
