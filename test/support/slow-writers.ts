// Taken from the module, so that tests which replace the global timers do not stop writing.
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../src/storage/database.ts'

const maxMs = 40

/**
 * The same database, in which a writer often continues later than others see its write: a busy machine does that now
 * and then, and code that depends on the order then fails. With FAMILIAR_TEST_SLOW only, because it takes time.
 */
export function slowWriters(database: Database): Database {
  if (!process.env.FAMILIAR_TEST_SLOW) return database
  return {
    ...database,
    async write(unit, options) {
      const result = await database.write(unit, options)
      if (Math.random() < 0.5) await pause(Math.random() * maxMs)
      return result
    },
  }
}
