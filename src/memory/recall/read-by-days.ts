import { sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import type { MemoryRow } from '../../storage/tables.ts'
import { isOf } from '../is-of.ts'
import { type Memory, memoryFromRow } from '../memory.ts'
import { toldWithinMs } from './match-dates.ts'
import type { DateRange } from './read-dates.ts'

const mostByDays = 120
// No index leads from a day to what speaks of it: so many of the newest are looked at.
const mostLookedAt = 5_000

/** For a question about nothing but days: what was told then or soon after, and what speaks of them. Newest first. */
export async function readByDays(database: Database, userId: string, { from, until }: DateRange): Promise<Memory[]> {
  const current = sql`user_id = ${userId} and superseded_at is null`
  const newestFirst = sql`order by created_at desc, id desc`
  const told = sql`
    select number from memories
    where ${current} and created_at between ${from} and ${until + toldWithinMs} ${newestFirst} limit ${mostByDays}`
  const spokenOf = sql`
    select number
    from (select * from memories where ${current} ${newestFirst} limit ${mostLookedAt}) as newest
    where happened_from <= ${until} and happened_until >= ${from} limit ${mostByDays}`
  const { rows } = await sql<MemoryRow>`
    select * from memories
    where ${isOf(userId)} and number in (select * from (${told}) as told union select * from (${spokenOf}) as spoken_of)
    ${newestFirst}`.execute(database.read)
  return rows.map(memoryFromRow)
}
