import { sql } from 'kysely'
import type { Reader } from '../../storage/database.ts'

/** The files that a logged event or a waiting message names. */
export function mediaHashesIn(json: string): string[] {
  return [...json.matchAll(/"hash":"([0-9a-f]{64})"/g)].map(([, hash = '']) => hash)
}

/** The files that are in conversations of this user and in nobody else's: each is stored once, whoever sent it. */
export async function mediaOfUserAlone(read: Reader, userId: string): Promise<string[]> {
  const own = await texts(read, userId, sql`=`)
  const hashes = new Set(own.flatMap(mediaHashesIn))
  if (hashes.size === 0) return []
  for (const text of await texts(read, userId, sql`!=`)) for (const hash of mediaHashesIn(text)) hashes.delete(hash)
  return [...hashes]
}

async function texts(read: Reader, userId: string, is: ReturnType<typeof sql>): Promise<string[]> {
  const found = await sql<{ data: string }>`
    select data from session_events
    where session_id in (select id from sessions where user_id ${is} ${userId}) and data like '%"hash":"%'
    union all
    select data from inbox where user_id ${is} ${userId} and data like '%"hash":"%'`.execute(read)
  return found.rows.map(({ data }) => data)
}
