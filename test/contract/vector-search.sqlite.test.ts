import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createSqliteVectorSearch } from '../../src/storage/sqlite/open-sqlite.ts'
import { openIn, temporaryDirectory } from './storage-support.ts'
import { describeVectorSearch } from './vector-search-contract.ts'

describeVectorSearch('SQLite', () => openSearch(1))
// Above the limit, a coarse pass selects candidates. Random vectors are the hardest case.
describeVectorSearch('SQLite with a rough look', () => openSearch(0.9, { exactLimit: 20 }))

async function openSearch(leastRecall: number, options: { exactLimit?: number } = {}) {
  const directory = temporaryDirectory()
  const database = await openIn(directory.path)
  const path = join(directory.path, 'familiar.db')
  const search = createSqliteVectorSearch({ path, clock: systemClock(), ...options })
  return {
    database,
    search,
    leastRecall,
    async dispose() {
      await search.close()
      await database.close()
      directory[Symbol.dispose]()
    },
  }
}
