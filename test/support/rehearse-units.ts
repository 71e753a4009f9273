import type { Database } from '../../src/storage/database.ts'

/**
 * The same database, but every unit is run once in vain before it is run for good: a unit that changes anything besides
 * its rows does so twice, and a suite that runs on this shows it. PostgreSQL runs units again whenever they meet.
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
