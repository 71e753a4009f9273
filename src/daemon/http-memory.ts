import type { Learning } from '../agent/learning.ts'
import type { Clock } from '../base/clock.ts'
import type { HttpMemory } from '../channels/http/http-dependencies.ts'
import { countMemories } from '../memory/count-memories.ts'
import type { FamiliarMemory } from '../memory/familiar-memory.ts'
import type { Database } from '../storage/database.ts'

/** Memory as the HTTP API asks for it. */
export function httpMemory(options: {
  database: Database
  memory: FamiliarMemory
  learning: Learning
  followFiles(userId: string): void
  spoolDirectory: string
  clock: Clock
  timeZone: string
}): HttpMemory {
  const { database, memory, learning, followFiles, spoolDirectory, clock, timeZone } = options
  const { memories, files } = memory
  return {
    memory,
    learning,
    followFiles,
    spoolDirectory,
    timeZone,
    countMemories: (userId) => countMemories({ database, clock }, userId),
    databaseBytes: database.sizeInBytes,
    // Both are loaded when somebody asks for them, which is seldom.
    async *exportMemories(request) {
      const { exportMemories } = await import('../memory/transfer/export-memories.ts')
      yield* exportMemories({ database, memories, folders }, request)
    },
    async importMemories(request) {
      const { importMemories } = await import('../memory/transfer/import-memories.ts')
      return importMemories({ database, memories, clock, addFolder: files.addRoot }, request)
    },
  }

  /** The workspace's own are everywhere: only what the user added is worth telling. */
  async function folders(userId: string): Promise<string[]> {
    const roots = await files.roots(userId)
    return roots.filter((root) => !root.isWorkspace).map((root) => root.path)
  }
}
