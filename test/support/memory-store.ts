import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createIds } from '../../src/base/ids.ts'
import { createCommitments } from '../../src/memory/commitments.ts'
import { createCorrections } from '../../src/memory/corrections.ts'
import { createEpisodes } from '../../src/memory/episodes.ts'
import { createFacts } from '../../src/memory/facts.ts'
import { createGraph } from '../../src/memory/graph.ts'
import { createMemories, memoryCollection, type ReadDates } from '../../src/memory/memories.ts'
import { createAliases } from '../../src/memory/names.ts'
import { createManualClock } from './manual-clock.ts'
import { openTestDatabase } from './open-test-database.ts'
import { placesHolding } from './places-holding.ts'

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
    commitments: createCommitments({ database, clock, ids, memories }),
    graph: createGraph({ database, clock }),
    corrections: createCorrections({
      database,
      clock,
      ids,
      memories,
      facts,
      onSessionsChanged: (sessionIds) => void changedSessions.push(...sessionIds),
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
    placesHolding: (text: string) => placesHolding(database, path, text),
    async close() {
      await database.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}

export type MemoryStore = Awaited<ReturnType<typeof openMemoryStore>>
