import type { Database } from '../../storage/database.ts'

const keptMs = 30 * 24 * 60 * 60_000
const stepSize = 200

/** Deletes what has been over for a month, a little at a time, so that nobody waits for it. */
export async function clearOldItems(database: Database, now: number, signal: AbortSignal): Promise<number> {
  let cleared = 0
  while (!signal.aborted) {
    const old = await database.read
      .selectFrom('outbox')
      .select('id')
      // Through the index of users and times: the table itself is large.
      .where('user_id', 'in', (users) => users.selectFrom('users').select('id'))
      .where('created_at', '<', now - keptMs)
      .where('next_at', 'is', null)
      .limit(stepSize)
      .execute()
    if (old.length === 0) break
    const ids = old.map(({ id }) => id)
    await database.write((writer) =>
      writer.deleteFrom('outbox').where('id', 'in', ids).where('next_at', 'is', null).execute(),
    )
    cleared += ids.length
  }
  return cleared
}
