import { mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createIds } from '../../src/base/ids.ts'
import { createAliases } from '../../src/memory/aliases.ts'
import { createCommitments } from '../../src/memory/commitments.ts'
import { createCorrections } from '../../src/memory/corrections.ts'
import { createEpisodes } from '../../src/memory/episodes.ts'
import { createFacts } from '../../src/memory/facts.ts'
import { createGraph } from '../../src/memory/graph.ts'
import { createMemories, memoryCollection, type ReadDates } from '../../src/memory/memories.ts'
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'
import { createManualClock } from './manual-clock.ts'

/** A real database with the users `max` and `eve`, and everything that stores or changes a memory. */
export async function openMemoryStore(options: { readDates?: ReadDates } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'familiar-memory-'))
  const clock = createManualClock()
  const ids = createIds(clock)
  const path = join(home, 'familiar.db')
  const database = await openSqlite({ path, clock, snapshotDirectory: home })
  await database.write(async (writer) => {
    const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: clock.now() }))
    await writer.insertInto('users').values(users).execute()
  })
  const memories = createMemories({ database, clock, ids, ...options })
  const changedSessions: string[] = []
  return {
    clock,
    ids,
    path,
    database,
    memories,
    facts: createFacts({ database, clock, memories }),
    aliases: createAliases({ database }),
    episodes: createEpisodes({ database, memories }),
    commitments: createCommitments({ database, clock, memories }),
    graph: createGraph({ database, clock }),
    corrections: createCorrections({
      database,
      clock,
      ids,
      memories,
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
    /** In which of the database's files the bytes of the text are, in capitals or not. */
    filesHolding(text: string): string[] {
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

export type MemoryStore = Awaited<ReturnType<typeof openMemoryStore>>
