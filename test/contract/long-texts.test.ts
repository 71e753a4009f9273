import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createIds, sha256 } from '../../src/base/ids.ts'
import { createCapabilityStorage } from '../../src/custom-tools/storage.ts'
import { createCommitments } from '../../src/memory/commitments.ts'
import { createProceduralMemory } from '../../src/memory/episodes.ts'
import { createFacts } from '../../src/memory/facts.ts'
import { createMemories } from '../../src/memory/memories.ts'
import { topicsOf } from '../../src/memory/words.ts'
import type { Database } from '../../src/storage/database.ts'
import { allMigrations } from '../../src/storage/migrations/all-migrations.ts'
import { createAssetVersions } from '../../src/tools/files/assets.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { openTestDatabase } from '../support/open-test-database.ts'
import { whyNoPostgres } from '../support/postgres/start-postgres.ts'
import { openIn, temporaryDirectory } from './storage-support.ts'

const clock = createManualClock()
const userId = 'max'

/** Nothing in it repeats: an index could not hold it by packing it. */
function letters(length: number, { from = 0x4e00, kinds = 20_000, seed = 'a' } = {}): string {
  let text = ''
  for (let index = 0; text.length < length; index += 1) {
    text += String.fromCodePoint(from + (Number.parseInt(sha256(`${seed}${index}`).slice(0, 8), 16) % kinds))
  }
  return text
}

function storesOf(database: Database) {
  const memories = createMemories({ database, clock, ids: createIds(clock) })
  return {
    facts: createFacts({ database, clock, memories }),
    commitments: createCommitments({ database, clock, ids: createIds(clock), memories }),
    versions: createAssetVersions({ database, clock }),
    procedural: createProceduralMemory({ database, clock }),
    capabilities: createCapabilityStorage({ database, clock, redactor: { redact: (text) => text } }),
  }
}

describe.each(['sqlite', 'postgres'] as const)('the longest texts that are taken, on %s', (engine) => {
  const isMissing = engine === 'postgres' && whyNoPostgres() !== undefined
  let database: Database
  let stores: ReturnType<typeof storesOf>

  beforeEach(async () => {
    database = await openTestDatabase({ engine, clock })
    await database.write((writer) =>
      writer.insertInto('users').values({ id: userId, name: 'Max', role: 'owner', created_at: 0 }).execute(),
    )
    stores = storesOf(database)
  })

  afterEach(() => database.close())

  it.skipIf(isMissing)('SCALE-1 a fact of ten thousand signs is confirmed, found and replaced', async () => {
    const value = letters(10_000)
    const fact = { userId, entity: 'Anna', attribute: 'poem', source: 'user' } as const
    const outcomes = []
    for (const text of [value.slice(1), value.slice(0, -1), value, value]) {
      outcomes.push((await stores.facts.write({ ...fact, value: text })).outcome)
    }
    expect(outcomes).toEqual(['added', 'replaced', 'replaced', 'confirmed'])
    expect(await stores.facts.find({ userId, value })).toMatchObject([{ value }])
  })

  it.skipIf(isMissing)('SCALE-1 a promise of two thousand signs is one promise', async () => {
    const promise = { userId, who: 'user', what: letters(2_000), source: 'user' } as const
    expect((await stores.commitments.add(promise)).isNew).toBe(true)
    expect((await stores.commitments.add(promise)).isNew).toBe(false)
    expect((await stores.commitments.add({ ...promise, what: promise.what.slice(0, -1) })).isNew).toBe(true)
  })

  it.skipIf(isMissing)('SCALE-1 the versions of a file deep in its folders', async () => {
    const uri = `file:///${letters(4_000)}`
    const actor = { userId, author: 'user', agent: 'main', trust: 'owner' } as const
    const step = { found: undefined, next: { ok: true, content: 'new', trust: 'owner' } } as const
    const version = await stores.versions.record(actor, uri, step)
    expect(await stores.versions.newest(userId, uri)).toMatchObject({ version, content: 'new' })
    expect(await stores.versions.list(userId, uri.slice(0, -1))).toEqual([])
    await stores.versions.drop(userId, uri, version)
    expect(await stores.versions.newest(userId, uri)).toMatchObject({ content: null })
  })

  it.skipIf(isMissing)('SCALE-1 a message that is one long word', async () => {
    const word = letters(5_000, { from: 0x430, kinds: 32 })
    await stores.procedural.record({ userId, tool: 'web', userText: word, outcome: 'succeeded' })
    const weightIn = async (topics: string[]) => (await stores.procedural.weights(userId, topics)).get('web')
    expect(await weightIn(topicsOf(word))).toBeGreaterThan((await weightIn([])) ?? 1)
  })

  it.skipIf(isMissing)('SCALE-1 a capability gets an error if its key is too long', async () => {
    const place = { kind: 'kept', capabilityId: 'one' } as const
    expect(await stores.capabilities.write(place, [[letters(900), '1']])).toContain('2500 bytes')
  })
})

it('SCALE-1 data stored under a long key earlier is found under its short one', async () => {
  using directory = temporaryDirectory()
  const value = letters(3_000)
  const before = await openIn(directory.path, { migrations: allMigrations.filter(({ name }) => name < '0010') })
  await before.write((writer) =>
    writer.insertInto('users').values({ id: userId, name: 'Max', role: 'owner', created_at: 0 }).execute(),
  )
  const fact = { userId, entity: 'Anna', attribute: 'poem', value, source: 'user' } as const
  const { fact: stored } = await storesOf(before).facts.write(fact)
  await before.write((writer) => writer.updateTable('facts').set({ value_key: value }).execute())
  await before.close()

  const after = await openIn(directory.path)
  expect(await storesOf(after).facts.write(fact)).toMatchObject({ outcome: 'confirmed', fact: { id: stored.id } })
  await after.close()
})
