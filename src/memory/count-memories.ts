import { sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { Database } from '../storage/database.ts'
import type { Tables } from '../storage/tables.ts'
import type { MemoryKind } from './memory.ts'

export interface MemoryCounts {
  /** What is not superseded. */
  memories: Record<MemoryKind, number>
  superseded: number
  aliases: number
  edges: number
  /** What can still be undone. */
  changes: number
  files: { count: number; bytes: number }
}

/** How much there is of one user. */
export async function countMemories(
  { database, clock }: { database: Database; clock: Clock },
  userId: string,
): Promise<MemoryCounts> {
  const counts: MemoryCounts = {
    memories: { note: 0, fact: 0, episode: 0, commitment: 0, chunk: 0 },
    superseded: 0,
    aliases: await count('entity_aliases'),
    edges: await count('memory_edges'),
    changes: await count('memory_changes', clock.now()),
    files: { count: 0, bytes: 0 },
  }
  const kinds = await database.read
    .selectFrom('memories')
    .select(({ fn }) => ['kind', fn.countAll().as('count'), fn.count('superseded_at').as('superseded')])
    .where('user_id', '=', userId)
    .groupBy('kind')
    .execute()
  for (const row of kinds) {
    counts.memories[row.kind] = Number(row.count) - Number(row.superseded)
    counts.superseded += Number(row.superseded)
  }
  const files = await database.read
    .selectFrom('memory_files')
    .select(({ fn }) => [fn.countAll().as('count'), sql<number>`coalesce(sum(bytes), 0)`.as('bytes')])
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  counts.files = { count: Number(files.count), bytes: Number(files.bytes) }
  return counts

  async function count(table: keyof Tables & ('entity_aliases' | 'memory_edges' | 'memory_changes'), from?: number) {
    let query = database.read
      .selectFrom(table)
      .select(({ fn }) => fn.countAll().as('count'))
      .where('user_id', '=', userId)
    if (from !== undefined) query = query.where(sql.ref('undo_until'), '>=', from)
    return Number((await query.executeTakeFirstOrThrow()).count)
  }
}
