import { type Expression, type SqlBool, sql } from 'kysely'
import type { Memory, MemorySource, MemoryTier } from './memory.ts'

/** Which memories are wanted, apart from their kind. Nothing said: all. */
export interface MemoryFilter {
  tier?: MemoryTier | undefined
  source?: MemorySource | undefined
  /** Exactly as it is written. */
  tag?: string | undefined
  /** When it was told, the first and last moment included. */
  from?: number | undefined
  until?: number | undefined
}

export function passesFilter(memory: Memory, { tier, source, tag, from, until }: MemoryFilter): boolean {
  return (
    (tier === undefined || memory.tier === tier) &&
    (source === undefined || memory.source === source) &&
    (tag === undefined || memory.tags.includes(tag)) &&
    (from === undefined || memory.createdAt >= from) &&
    (until === undefined || memory.createdAt <= until)
  )
}

/** The same as conditions of a question to the table. */
export function filterConditions({ tier, source, tag, from, until }: MemoryFilter): Expression<SqlBool>[] {
  return [
    ...(tier === undefined ? [] : [sql<SqlBool>`tier = ${tier}`]),
    ...(source === undefined ? [] : [sql<SqlBool>`source = ${source}`]),
    // Tags are kept as a JSON array: as it stands there, in its quotes, one is never a part of another.
    // Found by taking it out: of all ways to look for a part of a text, the one that both engines know and read alike.
    ...(tag === undefined ? [] : [sql<SqlBool>`replace(tags, ${JSON.stringify(tag)}, '') <> tags`]),
    ...(from === undefined ? [] : [sql<SqlBool>`created_at >= ${from}`]),
    ...(until === undefined ? [] : [sql<SqlBool>`created_at <= ${until}`]),
  ]
}
