// Taken from the module, so that tests which replace the global timers do not stop writing.
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../src/storage/database.ts'

const longestMs = 40

/**
 * The same database, where whoever wrote often goes on later than others see what was written: a busy machine does that
 * now and then, and whatever counts on the order of the two then fails. With FAMILIAR_TEST_SLOW alone, as it takes time.
 */
export function slowWriters(database: Database): Database {
  if (!process.env.FAMILIAR_TEST_SLOW) return database
  return {
    ...database,
    async write(unit, options) {
      const result = await database.write(unit, options)
      if (Math.random() < 0.5) await pause(Math.random() * longestMs)
      return result
    },
  }
}
