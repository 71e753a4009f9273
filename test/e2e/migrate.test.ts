import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type FilledSizes, fillDatabase } from '../support/filled-database.ts'
import { createPostgresDatabase } from '../support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../support/postgres/start-postgres.ts'
import { openEnd } from '../support/transfer-ends.ts'
import {
  canOpenTerminal,
  cleanUp,
  familiar,
  newHome,
  serveFamiliar,
  startAtTerminal,
  startFamiliar,
  temporaryDirectory,
} from './cli-process.ts'

afterEach(cleanUp)

const reportSchema = z.object({
  from: z.string(),
  to: z.string(),
  rows: z.number(),
  moved_before: z.number(),
  tables: z.array(z.object({ name: z.string(), rows: z.number(), checksum: z.string().length(64) })),
  counters: z.object({ memories: z.number(), memory_vectors: z.number() }),
})

const small = { memories: 1200, sessions: 12, eventsOfSession: 10 }

async function filledHome(sizes: FilledSizes = small): Promise<string> {
  const home = newHome()
  mkdirSync(home, { mode: 0o700 })
  await fillDatabase(join(home, 'familiar.db'), sizes)
  return home
}

async function migrateJson(home: string, args: string[]): Promise<z.infer<typeof reportSchema>> {
  const { stdout, stderr, code } = await familiar(['migrate', ...args, '--json'], { home })
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  return reportSchema.parse(JSON.parse(stdout))
}

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

/** The results of a full-text search, in any collection and engine. */
async function findWords(place: string, words: string): Promise<string[]> {
  const database = await openEnd(place)
  try {
    const user = await database.read.selectFrom('users').select('id').executeTakeFirstOrThrow()
    const query = { userId: user.id, words, limit: 1_000 }
    const memories = await database.textSearch.search({ ...query, collection: 'memories' })
    const facts = await database.textSearch.withAll({ ...query, words: [words], collection: 'facts' })
    return [...memories.map(({ id }) => id), ...facts].sort()
  } finally {
    await database.close()
  }
}

async function expectSameThereAndBack(sizes: FilledSizes): Promise<void> {
  await using server = await createPostgresDatabase()
  const home = await filledHome(sizes)
  const database = join(home, 'familiar.db')
  const before = hashOf(database)
  const there = await migrateJson(home, ['--to', server.url])
  const rowsOf = (name: string) => there.tables.find((table) => table.name === name)?.rows
  expect(rowsOf('memories')).toBe(sizes.memories)
  expect(rowsOf('memory_vectors')).toBe(sizes.memories)
  expect(rowsOf('sessions')).toBe(sizes.sessions)
  expect(hashOf(database)).toBe(before)

  const back = join(temporaryDirectory(), 'back.db')
  const again = await migrateJson(home, ['--from', server.url, '--to', back])
  expect(again.tables).toEqual(there.tables)
  expect(again.counters).toEqual(there.counters)
  const found = await findWords(database, 'person')
  expect(found.length).toBeGreaterThan(50)
  expect(await findWords(server.url, 'person')).toEqual(found)
  expect(await findWords(back, 'person')).toEqual(found)
}

describe.skipIf(whyNoPostgres())('a home in PostgreSQL', () => {
  it('SCALE-3 is the same there and back, and its words are found at every end', async () => {
    await expectSameThereAndBack(small)
  }, 120_000)

  it.runIf(process.env.FAMILIAR_TEST_ALL)(
    'SCALE-3 so is one of 100,000 memories and 1,000 sessions',
    () => expectSameThereAndBack({ memories: 100_000, sessions: 1_000, eventsOfSession: 20 }),
    1_800_000,
  )

  it('SCALE-3 killed in the middle, the same command continues where it was; no password is shown', async () => {
    await using server = await createPostgresDatabase()
    const url = server.url.replace('postgres@', 'postgres:geheim@')
    const home = await filledHome({ ...small, memories: 2_500 })
    const first = startFamiliar(['migrate', '--to', url], { home })
    await first.untilShows(/Copying rows: [1-9],\d{3} of/)
    first.child.kill('SIGKILL')
    expect(await first.ended).toMatchObject({ code: null, stdout: '' })
    const { code, stdout, stderr } = await familiar(['migrate', '--to', url], { home })
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\d,\d{3} of them were moved by an earlier run/),
    })
    expect(stdout).toMatch(/^memories +2500 +[0-9a-f]{64}$/m)
    expect(stdout + stderr).not.toContain('geheim')
    expect(stderr).toMatch(/FAMILIAR_DATABASE_URL=postgres:\/\/postgres:\*\*\*@/)
    expect(stderr).toMatch(/Not moved, because they are files of the home: key/)
  }, 120_000)
})

describe('a home in a file', () => {
  it('SCALE-3 is not read while a daemon runs on it; how to stop that is said', async () => {
    const home = newHome()
    const daemon = await serveFamiliar({ home })
    const refused = await familiar(['migrate', '--to', join(temporaryDirectory(), 'copy.db')], { home })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`kill ${daemon.child.pid}`) })
  }, 120_000)

  it('SCALE-3 Ctrl-C stops a move between two pages, and it can continue; at a terminal counts are drawn over', async () => {
    const home = await filledHome({ ...small, memories: 2_500 })
    const to = join(temporaryDirectory(), 'copy.db')
    const first = startFamiliar(['migrate', '--to', to], { home })
    await first.untilShows(/Copying rows: [1-9],\d{3} of/)
    first.child.kill('SIGINT')
    expect(await first.ended).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('Run the command again to continue'),
    })
    const again = canOpenTerminal ? startAtTerminal : startFamiliar
    const { stdout } = await again(['migrate', '--home', home, '--to', to], { home }).ended
    if (canOpenTerminal) expect(stdout).toMatch(/Checking what was written: (\d,\d{3}) of \1/)
    expect(stdout).toMatch(/equal by checksum\.\s+[\d,]+ of them were moved by an earlier run/)
  }, 120_000)
})
