import type { Database } from '../../src/storage/database.ts'

/**
 * The same database, but every unit is run and rolled back once before the real run: a unit with other side effects has
 * them twice, and a suite on this database shows it. PostgreSQL retries units on conflicts.
 */
export function rehearseUnits<Opened extends Database>(database: Opened): Opened {
  return {
    ...database,
    async write(unit, options) {
      const inVain = new Error('The rehearsal is over.')
      const rehearsal = database.write(async (writer) => {
        await unit(writer)
        throw inVain
      }, options)
      // Whatever else it fails with, it fails with again.
      await rehearsal.catch(() => {})
      return database.write(unit, options)
    },
  }
}
