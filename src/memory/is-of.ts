import { type RawBuilder, sql } from 'kysely'

/**
 * That a row is the user's, for rows that are named one by one. Written so that no index helps with it: SQLite would
 * rather walk all of a user's million rows than look up two hundred by their keys.
 */
export function isOf(userId: string): RawBuilder<boolean> {
  return sql<boolean>`coalesce(user_id, '') = ${userId}`
}
