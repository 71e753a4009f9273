import { testEngine } from './open-test-database.ts'

/**
 * How much of it a suite does: the whole where that is quick or there is time for it (FAMILIAR_TEST_ALL), else less of it.
 * On PostgreSQL every statement is a way to another process and back, and in the tests each unit runs twice.
 */
export function testSize({ whole, onPostgres }: { whole: number; onPostgres: number }): number {
  return testEngine === 'sqlite' || process.env.FAMILIAR_TEST_ALL ? whole : onPostgres
}
