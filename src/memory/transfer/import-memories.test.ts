import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { openTestDatabase } from '../../../test/support/open-test-database.ts'
import { testSize } from '../../../test/support/test-size.ts'
import { createIds } from '../../base/ids.ts'
import { toStorableText } from '../../base/text.ts'
import type { Database } from '../../storage/database.ts'
import { createCommitments } from '../commitments.ts'
import { createEpisodes } from '../episodes.ts'
import { createFacts } from '../facts.ts'
import { createGraph } from '../graph.ts'
import { createMemories, memoryCollection } from '../memories.ts'
import { createAliases } from '../names.ts'
import { type ExportFormat, exportRecords } from './export-memories.ts'
import { type ImportReport, importRecords, type MemoryImport } from './import-memories.ts'

type Store = ReturnType<typeof createStore>

let folder: string
let clock: ManualClock
let stores: Store[]
let opened = 0
let store: Store

beforeEach(async () => {
  clock = createManualClock()
  folder = await mkdtemp(join(tmpdir(), 'familiar-transfer-'))
  stores = []
  store = await openStore()
})

afterEach(async () => {
  for (const { database } of stores) await database.close()
  await rm(folder, { recursive: true })
})

/** An empty database with two users. */
async function openStore(): Promise<Store> {
  opened += 1
  const directory = join(folder, String(opened))
  await mkdir(directory)
  const database = await openTestDatabase({ directory, clock })
  await database.write(async (writer) => {
    const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: 0 }))
    await writer.insertInto('users').values(users).execute()
  })
  const created = createStore(database)
  stores.push(created)
  return created
}

function createStore(database: Database) {
  const memories = createMemories({ database, clock, ids: createIds(clock) })
  return {
    database,
    memories,
    facts: createFacts({ database, clock, memories }),
    commitments: createCommitments({ database, clock, ids: createIds(clock), memories }),
    episodes: createEpisodes({ database, memories }),
    graph: createGraph({ database, clock }),
    aliases: createAliases({ database }),
    folders: [] as string[],
  }
}

async function exported(
  { database, memories, folders }: Store,
  format: ExportFormat,
  userId = 'max',
): Promise<string[]> {
  return await Array.fromAsync(exportRecords({ database, memories, folders: async () => folders }, { userId, format }))
}

async function imported(into: Store, lines: string[], options: Partial<MemoryImport> = {}): Promise<ImportReport> {
  const { database, memories, folders } = into
  const addFolder = async (_userId: string, path: string) => {
    if (path.includes('missing')) return { ok: false }
    folders.push(path)
    return { ok: true }
  }
  const outcome = await importRecords({ database, memories, clock, addFolder }, { userId: 'max', lines, ...options })
  if (!outcome.ok) throw new Error(outcome.message)
  return outcome.report
}

async function found(into: Store, words: string, userId = 'max'): Promise<string[]> {
  const matches = await into.database.textSearch.search({ collection: memoryCollection, userId, words, limit: 50 })
  return matches.map((match) => match.id)
}

/** Some of everything, over a few days. */
async function fill({ memories, facts, commitments, episodes, graph, aliases, database }: Store): Promise<void> {
  const userId = 'max'
  const note = await memories.add({
    userId,
    kind: 'note',
    content:
      'Call mum\n\n- not a list\n  1. nor this\n# nor a heading ^nor-an-id #nor-a-tag\n<!-- seen -->\n   \nשלום 👩‍👩‍👧 C:\\new\\* \\',
    title: 'Mum',
    category: 'family',
    tags: ['phone', 'two words', 'odd ]\\#^', '#'],
    source: 'user',
    sessionId: 's1',
    turnId: 't1',
  })
  await aliases.add(userId, 'Bee = B', 'Bea')
  await aliases.add(userId, 'Trixie', 'Bea')
  await facts.declareMultiValued(userId, 'colour')
  await facts.write({ userId, entity: 'Bea', attribute: 'city', value: 'Paris', source: 'user' })
  await clock.advance(86_400_000 * 2 + 1_234)
  await facts.write({
    userId,
    entity: 'Bea',
    attribute: 'city',
    value: 'Berlin: Mitte',
    source: 'user',
    sessionId: 's1',
  })
  for (const value of ['red', 'blue']) {
    await facts.write({ userId, entity: 'user', attribute: 'colour', value, source: 'extracted', confidence: 0.6 })
  }
  const { commitment } = await commitments.add({
    userId,
    who: 'user',
    toWhom: 'Bea',
    what: 'return the book',
    deadline: Date.UTC(2026, 11, 1),
    source: 'agent',
  })
  await commitments.add({ userId, who: 'Bea', what: 'send photographs', source: 'extracted' })
  await clock.advance(3_600_000)
  await commitments.update(userId, commitment.id, { state: 'done' })
  const { episode } = await database.write((writer) =>
    episodes.addIn(writer, {
      userId,
      summary: 'We planned a trip.\nIt will be long.',
      topics: ['travel', 'a; b'],
      decisions: ['go by train'],
      tone: 'merry',
      startedAt: clock.now() - 1_000,
      endedAt: clock.now(),
      source: 'extracted',
      sessionId: 's1',
    }),
  )
  for (const [position, speaker] of ['user', 'assistant'].entries()) {
    const place = { threadId: 's1:1', position, speaker, sessionId: 's1' }
    await memories.add({
      userId,
      kind: 'chunk',
      content: 'the same words',
      source: 'user',
      label: 'untrusted',
      ...place,
    })
  }
  await memories.add({
    userId,
    kind: 'note',
    content: 'soon gone',
    source: 'agent',
    tier: 'short_term',
    priority: 0.61,
  })
  // Edited to equal another: both are kept.
  const twin = await memories.add({ userId, kind: 'note', content: 'twin', source: 'user' })
  await database.write((writer) => memories.editIn(writer, twin.memory, { content: 'soon gone' }))
  await memories.used(userId, [note.memory.id])
  await memories.nextCycle(userId)
  await memories.nextCycle(userId)
  await memories.add({ userId, kind: 'note', content: 'in the second cycle', source: 'tool' })
  await graph.link(userId, {
    sourceId: note.memory.id,
    targetId: episode.id,
    relation: 'told ^in #it',
    weight: 0.1 + 0.2,
  })
  await graph.link(userId, { sourceId: episode.id, targetId: commitment.id, relation: 'led to', weight: 1 })
  await memories.add({ userId: 'eve', kind: 'note', content: 'my secret', source: 'user' })
}

describe('exportMemories and importMemories', () => {
  it.each<ExportFormat>(['json', 'markdown'])('MEM-14 an export as %s is the same after an import', async (format) => {
    await fill(store)
    store.folders.push('/notes', '/a b\\c')
    const lines = await exported(store, format)
    expect(lines.join('\n')).not.toContain('my secret')
    const other = await openStore()
    const report = await imported(other, lines, { addFolders: true })
    expect(report).toMatchObject({ format, isOwn: true, isFinished: true, known: 0, problems: { count: 0 } })
    expect(await exported(other, format)).toEqual(lines)
    // Also as one text, with the line ends of another system.
    const third = await openStore()
    await imported(third, lines.join('\r\n').split('\n'), { addFolders: true })
    expect(await exported(third, format)).toEqual(lines)
  })

  it('MEM-14 restores everything: history, states, words, edges, cycles', async () => {
    await fill(store)
    const other = await openStore()
    await imported(other, await exported(store, 'json'))
    const question = { userId: 'max', entity: 'Trixie', attribute: 'city' }
    expect(await other.facts.find(question)).toEqual(await store.facts.find(question))
    expect(await other.facts.find({ ...question, history: true })).toHaveLength(2)
    expect(await other.facts.find({ userId: 'max', entity: 'user' })).toHaveLength(2)
    const states = { userId: 'max', limit: 9 }
    expect(await other.commitments.list(states)).toEqual(await store.commitments.list(states))
    expect(await other.episodes.list('max', { limit: 9 })).toEqual(await store.episodes.list('max', { limit: 9 }))
    expect(await other.graph.edges('max', { limit: 9 })).toEqual(await store.graph.edges('max', { limit: 9 }))
    expect(await other.memories.cycle('max')).toBe(2)
    for (const words of ['mum', 'Paris', 'Berlin', 'photographs', 'train', 'phone']) {
      expect(await found(other, words), words).toEqual(await found(store, words))
    }
    const page = { limit: 50 }
    const withoutNumbers = async (from: Store) =>
      (await from.memories.list('max', page)).map(({ number, ...memory }) => memory)
    expect(await withoutNumbers(other)).toEqual(await withoutNumbers(store))
  })

  it('MEM-14 writes a readable document', async () => {
    await fill(store)
    const ids = new Map<string, string>()
    const text = (await exported(store, 'markdown'))
      .join('\n')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, (id) => {
        if (!ids.has(id)) ids.set(id, `id${ids.size + 1}`)
        return ids.get(id) ?? id
      })
    expect(text).toMatchInlineSnapshot(`
      "<!-- {"familiar":"memories","version":1,"user":"max","cycles":0} -->
      # Memories

      ## Notes

      - 2026-11-15 Call mum #phone #[two words] #[odd \\]\\\\#^] #[#] ^id1

        \\- not a list
          1\\. nor this
        \\# nor a heading \\^nor-an-id \\#nor-a-tag
        \\<!-- seen -->
           
        שלום 👩‍👩‍👧 C:\\new\\\\* \\
        - title: Mum
        - category: family
      - 2026-11-17 soon gone ^id2
        - tier: short_term
        - priority: 0.61
        - source: agent
      - 2026-11-17 soon gone ^id3
      - 2026-11-17 in the second cycle ^id4
        - source: tool

      ## Names

      - Bee \\= B = Bea
      - Trixie = Bea

      ## Attributes

      - colour: several

      ## Facts

      - 2026-11-15 Bea: city is Paris ^id5
        - entity: Bea
        - attribute: city
        - value: Paris
        - until: 2026-11-17T09:00:01.234Z
        - replaced: 2026-11-17T09:00:01.234Z
        - replaced by: id6
      - 2026-11-17 Bea: city is Berlin: Mitte ^id6
        - entity: Bea
        - attribute: city
        - value: Berlin: Mitte
      - 2026-11-17 user: colour is red ^id7
        - entity: user
        - attribute: colour
        - value: red
        - confidence: 0.6
        - source: extracted
      - 2026-11-17 user: colour is blue ^id8
        - entity: user
        - attribute: colour
        - value: blue
        - confidence: 0.6
        - source: extracted

      ## Commitments

      - 2026-11-17 user owes Bea: return the book, by 2026-12-01 (done) ^id9
        - who: user
        - to: Bea
        - what: return the book
        - by: 2026-12-01
        - state: done
        - closed: 2026-11-17T10:00:01.234Z
        - source: agent
      - 2026-11-17 Bea owes: send photographs ^id10
        - who: Bea
        - what: send photographs
        - state: open
        - source: extracted

      ## Episodes

      - 2026-11-17 We planned a trip. ^id11
        It will be long.
        Decided: go by train
        Topics: travel, a; b
        - topic: travel
        - topic: a; b
        - decision: go by train
        - tone: merry
        - began: 2026-11-17T10:00:00.234Z
        - ended: 2026-11-17T10:00:01.234Z
        - source: extracted

      ## Conversations

      - 2026-11-17 the same words ^id12
        - speaker: user
        - thread: s1:1
        - position: 0
        - label: untrusted
      - 2026-11-17 the same words ^id13
        - speaker: assistant
        - thread: s1:1
        - position: 1
        - label: untrusted

      ## Links

      - ^id1 told \\^in \\#it ^id11 0.30000000000000004 2026-11-17
      - ^id11 led to ^id9 1 2026-11-17"
    `)
  })

  it('MEM-14 adds nothing the second time, whatever the format', async () => {
    await fill(store)
    const json = await exported(store, 'json')
    const markdown = await exported(store, 'markdown')
    for (const lines of [json, markdown]) {
      const report = await imported(store, lines)
      expect(report).toMatchObject({ added: { memories: 0, edges: 0, names: 0 }, problems: { count: 0 } })
      expect(await exported(store, 'json')).toEqual(json)
    }
    const other = await openStore()
    await imported(other, markdown)
    expect((await imported(other, json)).added).toEqual({ memories: 0, edges: 0, names: 0 })
  })

  it('MEM-14 keeps a memory that exists under another id, and links edges to it', async () => {
    await fill(store)
    const other = await openStore()
    const told = await other.memories.add({ userId: 'max', kind: 'note', content: 'soon gone', source: 'user' })
    const lines = await exported(store, 'json')
    const gone = (await store.memories.list('max', { limit: 50 })).find((memory) => memory.content === 'soon gone')
    const end = (await store.memories.list('max', { limit: 1, kinds: ['episode'] }))[0]
    const edge = {
      type: 'edge',
      source_id: gone?.id,
      target_id: end?.id,
      relation: 'x',
      weight: 1,
      created_at: '2026-11-15',
    }
    expect(await imported(other, [...lines, JSON.stringify(edge)])).toMatchObject({ known: 2, problems: { count: 0 } })
    expect(await other.graph.edges('max', { ids: [told.memory.id], limit: 9 })).toHaveLength(1)
    expect(await other.memories.get('max', told.memory.id)).toEqual(told.memory)
  })

  it("MEM-14 takes no id of another user, and treats another user's export as untrusted data", async () => {
    await fill(store)
    const lines = await exported(store, 'json')
    const before = await exported(store, 'json')
    const report = await imported(store, lines, { userId: 'eve' })
    expect(report).toMatchObject({ isOwn: false, known: 0, problems: { count: 0 } })
    expect(report.added.edges).toBe(2)
    expect(await exported(store, 'json')).toEqual(before)
    const eves = await store.memories.list('eve', { limit: 50 })
    const maxes = await store.memories.list('max', { limit: 50 })
    expect(eves.filter((memory) => maxes.some(({ id }) => id === memory.id))).toEqual([])
    const foreign = eves.filter((memory) => memory.content !== 'my secret')
    expect(foreign).toHaveLength(maxes.length)
    for (const memory of foreign) {
      expect(memory).toMatchObject({ source: 'import', label: 'untrusted', sessionId: null, turnId: null })
    }
    const [closed] = (await store.facts.find({ userId: 'eve', attribute: 'city', history: true })).filter(
      (fact) => fact.validTo,
    )
    const closing = await store.memories.get('eve', closed?.id ?? '')
    expect(await store.memories.get('eve', closing?.supersededBy ?? '')).toMatchObject({ userId: 'eve' })
    expect((await imported(store, lines, { userId: 'eve' })).added).toEqual({ memories: 0, edges: 0, names: 0 })
    expect(await store.memories.list('eve', { limit: 50 })).toEqual(eves)
    const trusting = await openStore()
    await imported(trusting, lines, { userId: 'eve', label: 'owner' })
    expect((await trusting.memories.list('eve', { limit: 1 }))[0]).toMatchObject({ source: 'import', label: 'owner' })
    const moved = await openStore()
    expect(await imported(moved, lines, { userId: 'eve', isMine: true })).toMatchObject({ isOwn: true })
    expect((await exported(moved, 'json', 'eve')).slice(1)).toEqual(lines.slice(1))
  })

  it('MEM-14 the later and more certain value wins a contradiction', async () => {
    const other = await openStore()
    const fact = { userId: 'max', entity: 'Bea', source: 'user' as const }
    await store.facts.write({ ...fact, attribute: 'city', value: 'Paris' })
    await store.facts.write({ ...fact, attribute: 'job', value: 'nurse' })
    await store.facts.write({ ...fact, attribute: 'height', value: '1.70', confidence: 0.2, at: clock.now() + 99 })
    await store.facts.write({ ...fact, attribute: 'shoe', value: '38' })
    await clock.advance(10)
    await other.facts.write({ ...fact, attribute: 'city', value: 'Berlin' })
    await other.facts.write({ ...fact, attribute: 'height', value: '1.80', confidence: 0.9 })
    await other.facts.write({ ...fact, attribute: 'job', value: 'doctor', at: clock.now() - 20 })
    await other.facts.write({ ...fact, attribute: 'shoe', value: 'The 38' })
    await imported(other, await exported(store, 'json'))
    const now = await other.facts.find({ userId: 'max', entity: 'Bea' })
    expect(now.map(({ attribute, value }) => `${attribute} ${value}`).sort()).toEqual([
      'city Berlin',
      'height 1.80',
      'job nurse',
      'shoe The 38',
    ])
    expect(await other.facts.find({ userId: 'max', entity: 'Bea', history: true })).toHaveLength(7)
    const lines = await exported(other, 'json')
    expect((await imported(other, await exported(store, 'json'))).added.memories).toBe(0)
    expect(await exported(other, 'json')).toEqual(lines)
    expect(await found(other, 'Paris doctor')).toEqual([])
  })

  it('MEM-14 reports bad lines by number and imports the others', async () => {
    const good = { type: 'memory', id: 'a', kind: 'note', content: 'good', created_at: '2026-11-15T10:00:00Z' }
    const lines = [
      '{"familiar":"memories","version":1,"user":"max"}',
      'no JSON',
      JSON.stringify(good),
      JSON.stringify({ ...good, id: 'b', content: ' ' }),
      JSON.stringify({ ...good, id: 'c', created_at: 'yesterday' }),
      JSON.stringify({ ...good, id: 'd', kind: 'dream' }),
      '',
      JSON.stringify({
        type: 'edge',
        source_id: 'a',
        target_id: 'z',
        relation: 'r',
        weight: 1,
        created_at: '2026-11-15',
      }),
      '[1]',
      JSON.stringify({ ...good, id: 'e', content: 'x'.repeat(1_000_001) }),
      JSON.stringify({ ...good, id: 'f', content: 'also good', tags: [1] }),
      JSON.stringify({ ...good, id: 'g', content: 'also good' }),
    ]
    const report = await imported(store, lines)
    expect(report.added.memories).toBe(2)
    expect(report.problems.count).toBe(8)
    expect(report.problems.first.map((problem) => problem.line)).toEqual([2, 4, 5, 6, 8, 9, 10, 11])
    expect(report.problems.first[1]?.message).toBe('content: A memory needs some text')
    const markdown = [
      '<!-- {"familiar":"memories","version":1,"user":"max"} -->',
      '',
      '- 2026-11-15 before any section ^h',
      '## Notes',
      '- 2026-11-15 good as well #tag ^i',
      '- without a date ^j',
      '- 2026-11-15 without an id',
      'astray',
      '- 2026-13-45 no day ^k',
      '## Strange',
      '- 2026-11-15 in no known section ^l',
    ]
    const second = await imported(store, markdown)
    expect(second.added.memories).toBe(1)
    expect(second.problems.first.map((problem) => problem.line)).toEqual([3, 6, 7, 8, 9, 11])
  })

  it('MEM-14 rejects a file of an unknown version, and accepts records without a header as data', async () => {
    const lines = ['{"familiar":"memories","version":2,"user":"max"}', '{}']
    const { database, memories } = store
    const addFolder = async () => ({ ok: true })
    expect(await importRecords({ database, memories, clock, addFolder }, { userId: 'max', lines })).toMatchObject({
      ok: false,
      reason: 'newer_version',
    })
    const record = { type: 'memory', id: 'a', kind: 'note', content: 'x', created_at: '2026-11-15', label: 'owner' }
    expect(await imported(store, [JSON.stringify(record)])).toMatchObject({ isOwn: false, added: { memories: 1 } })
    expect(await store.memories.get('max', 'a')).toMatchObject({ source: 'import', label: 'untrusted' })
  })

  it('MEM-14 only reports folders unless asked to add them', async () => {
    store.folders.push('/notes', '/missing')
    const lines = await exported(store, 'json')
    const other = await openStore()
    expect((await imported(other, lines)).folders).toEqual({ added: [], left: ['/notes', '/missing'] })
    expect((await imported(other, lines, { addFolders: true })).folders).toEqual({
      added: ['/notes'],
      left: ['/missing'],
    })
  })

  it('MEM-14 leaves the passages of files to the files', async () => {
    const { memory } = await store.memories.add({
      userId: 'max',
      kind: 'chunk',
      content: 'from a file',
      source: 'import',
    })
    const note = await store.memories.add({ userId: 'max', kind: 'note', content: 'beside it', source: 'user' })
    await store.database.write(async (writer) => {
      const file = { root: '/a', path: '/a/b', content_hash: '', bytes: 0, modified_at: 0, indexed_at: 0 }
      await writer
        .insertInto('memory_files')
        .values({ id: 'file', user_id: 'max', ...file })
        .execute()
      const place = { file_id: 'file', first_line: 1, last_line: 1 }
      await writer
        .insertInto('chunks')
        .values({ id: memory.id, user_id: 'max', ...place })
        .execute()
    })
    await store.graph.link('max', { sourceId: note.memory.id, targetId: memory.id, relation: 'of', weight: 1 })
    expect((await exported(store, 'json')).join('\n')).not.toMatch(/from a file|edge/)
  })

  it('MEM-14 stops on abort, and the same file completes it', async () => {
    for (let number = 0; number < 120; number += 1) {
      await store.memories.add({ userId: 'max', kind: 'note', content: `note ${number}`, source: 'user' })
    }
    const lines = await exported(store, 'json')
    const other = await openStore()
    const stop = new AbortController()
    const report = await imported(other, lines, { signal: stop.signal, onProgress: () => stop.abort() })
    expect(report).toMatchObject({ isFinished: false, added: { memories: 50 } })
    expect(await imported(other, lines)).toMatchObject({ isFinished: true, added: { memories: 70 }, known: 50 })
    expect(await exported(other, 'json')).toEqual(lines)
  })

  it('MEM-14 restores any memories, in both formats', async () => {
    const odd = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(...'\n\r#^-*\\[]<>!& ab1.:=`~|\u2028שא') }),
      fc.constantFrom('- 2026-11-15 x ^id', '  - title: x', '## Notes', '```', '&#13;', 'a\n\n  - who: b', '٣. عربي'),
    )
    const items = fc.array(
      fc.record({
        content: odd,
        tags: fc.array(odd, { maxLength: 3 }),
        title: odd,
        days: fc.integer({ min: -1e6, max: 1e6 }),
      }),
      { maxLength: 8 },
    )
    await fc.assert(
      fc.asyncProperty(items, fc.array(odd, { minLength: 6, maxLength: 6 }), async (items, words) => {
        const from = await openStore()
        const into = await openStore()
        const userId = 'max'
        const [entity = '', attribute = '', value = '', alias = '', topic = '', id = ''] = words.map(
          (word) => `x${word}y`,
        )
        for (const { content, tags, title, days } of items) {
          const at = clock.now() + days * 86_400_000 + days
          await from.memories.add({ userId, kind: 'note', content: `.${content}.`, tags, title, source: 'user', at })
        }
        await from.memories.add({ userId, kind: 'note', content: `id ${id}`, source: 'user', id: toStorableText(id) })
        await from.facts.write({ userId, entity, attribute, value, source: 'agent' })
        await from.facts.declareMultiValued(userId, attribute)
        await from.aliases.add(userId, alias, entity)
        await from.commitments.add({ userId, who: entity, toWhom: alias, what: value, source: 'user' })
        await from.database.write((writer) =>
          from.episodes.addIn(writer, {
            userId,
            summary: value,
            topics: [topic],
            decisions: [topic, value],
            tone: topic,
            startedAt: 0,
            endedAt: clock.now(),
            source: 'extracted',
          }),
        )
        for (const format of ['json', 'markdown'] as const) {
          const target = format === 'json' ? into : await openStore()
          const lines = await exported(from, format)
          const report = await imported(target, lines.join('\n').split('\n'))
          expect(report.problems).toEqual({ count: 0, first: [] })
          expect(await exported(target, format)).toEqual(lines)
        }
        for (const { database } of stores.splice(1)) await database.close()
      }),
      { numRuns: testSize({ whole: 8, onPostgres: 2 }) },
    )
  })

  it('MEM-14 imports any list of notes from elsewhere, once', async () => {
    const lines = ['# Shopping', '', '- eggs', '- [x] milk', '', '2026-05-03 met Bea', '', '- eggs', '']
    const report = await imported(store, lines)
    expect(report).toMatchObject({ format: 'plain', isOwn: false, added: { memories: 3 }, known: 1 })
    expect((await store.memories.list('max', { limit: 9 })).map(({ number, id, ...memory }) => memory)).toEqual([
      expect.objectContaining({ content: 'milk', category: 'Shopping', source: 'import', label: 'untrusted' }),
      expect.objectContaining({ content: 'eggs', category: 'Shopping', kind: 'note' }),
      expect.objectContaining({ content: '2026-05-03 met Bea', createdAt: Date.UTC(2026, 4, 3) }),
    ])
    expect(await imported(store, lines)).toMatchObject({ added: { memories: 0 }, known: 4 })
    expect((await imported(store, ['x'.repeat(1_000_001), '', 'short'])).problems).toEqual({
      count: 1,
      first: [{ line: 1, message: 'A memory may have at most 1000000 characters' }],
    })
    expect(await imported(store, [])).toMatchObject({ isFinished: true, added: { memories: 0 } })
  })

  it('MEM-14 no file breaks it', async () => {
    const header = '{"familiar":"memories","version":1,"user":"max"}'
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.constantFrom(
        '',
        '- x',
        '  y',
        '## Notes',
        '## Facts',
        '## Links',
        '## Names',
        '- ^a b ^c 1 2026-11-15',
        '  - who: x',
      ),
      fc.constantFrom(
        '- 2026-11-15 text #tag #[a b] ^x',
        '- 2026-11-15 #[ ^y',
        '```',
        '---',
        '{"type":"memory"}',
        '> q',
      ),
    )
    const first = fc.constantFrom('', header, `<!-- ${header} -->`, '{', '---', '# List')
    await fc.assert(
      fc.asyncProperty(first, fc.array(line, { maxLength: 20 }), async (start, rest) => {
        const adding = imported(store, [start, ...rest])
        // It is either imported, or rejected with the reason.
        const refused = /^The file is (?:a JSON document|not text)/
        expect(
          await adding.then(
            ({ isFinished }) => isFinished,
            ({ message }: Error) => refused.test(message),
          ),
        ).toBe(true)
      }),
      { numRuns: 150 },
    )
  })
})
