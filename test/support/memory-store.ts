import { mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { createIds } from '../../src/base/ids.ts'
import { createAliases } from '../../src/memory/aliases.ts'
import { createCommitments } from '../../src/memory/commitments.ts'
import { createCorrections } from '../../src/memory/corrections.ts'
import { createEpisodes } from '../../src/memory/episodes.ts'
import { createFacts } from '../../src/memory/facts.ts'
import { createGraph } from '../../src/memory/graph.ts'
import { createMemories, memoryCollection, type ReadDates } from '../../src/memory/memories.ts'
import type { Database } from '../../src/storage/database.ts'
import { createManualClock } from './manual-clock.ts'
import { openTestDatabase } from './open-test-database.ts'

/** A real database with the users `max` and `eve`, and everything that stores or changes a memory. */
export async function openMemoryStore(options: { readDates?: ReadDates } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'familiar-memory-'))
  const clock = createManualClock()
  const ids = createIds(clock)
  const path = join(home, 'familiar.db')
  const database = await openTestDatabase({ directory: home, clock })
  await database.write(async (writer) => {
    const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: clock.now() }))
    await writer.insertInto('users').values(users).execute()
  })
  const memories = createMemories({ database, clock, ids, ...options })
  const facts = createFacts({ database, clock, memories })
  const changedSessions: string[] = []
  return {
    clock,
    ids,
    path,
    database,
    memories,
    facts,
    aliases: createAliases({ database }),
    episodes: createEpisodes({ database, memories }),
    commitments: createCommitments({ database, clock, memories }),
    graph: createGraph({ database, clock }),
    corrections: createCorrections({
      database,
      clock,
      ids,
      memories,
      facts,
      onSessionsChanged: (sessionIds) => changedSessions.push(...sessionIds),
    }),
    changedSessions,
    /** The contents that a search by words finds, best first. */
    async search(userId: string, words: string, limit = 10): Promise<string[]> {
      const matches = await database.textSearch.search({ collection: memoryCollection, userId, words, limit })
      const found = await memories.getMany(
        userId,
        matches.map((match) => match.id),
      )
      return found.map((memory) => memory.content)
    },
    /** In which of SQLite's files the bytes of the text are, or in which of PostgreSQL's tables; in capitals or not. */
    async placesHolding(text: string): Promise<string[]> {
      if (database.engine === 'postgres') return tablesHolding(database, text)
      return ['', '-wal'].filter((suffix) =>
        readFileSync(`${path}${suffix}`).toString('latin1').toLowerCase().includes(text.toLowerCase()),
      )
    },
    async close() {
      await database.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function tablesHolding({ read }: Database, text: string): Promise<string[]> {
  const tables = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = current_schema()`.execute(read)
  const found: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await sql`
      select 1 from ${sql.table(name)} as held where strpos(lower(held::text), ${text.toLowerCase()}) > 0 limit 1`.execute(
      read,
    )
    if (rows.length > 0) found.push(name)
  }
  return found
}

export type MemoryStore = Awaited<ReturnType<typeof openMemoryStore>>
