import { sha256 } from '../base/hash.ts'
import { parseAnyJson } from '../base/json.ts'
import type { Database } from '../storage/database.ts'
import type { Projection } from './projection.ts'

// Raised whenever Projection changes its shape: an older snapshot is then no snapshot, and the log speaks.
const version = 5

/**
 * A projection kept so that a long session opens without reading its whole log. Never the truth: one that is damaged,
 * of another version or ahead of its log is passed over.
 */
export interface Snapshots {
  load(sessionId: string): Promise<Projection | undefined>
  save(sessionId: string, projection: Projection): Promise<void>
  drop(sessionId: string): Promise<void>
}

export function createSnapshots(dependencies: { database: Database }): Snapshots {
  const { database } = dependencies
  return {
    async load(sessionId) {
      const row = await database.read
        .selectFrom('session_snapshots')
        .innerJoin('sessions', 'sessions.id', 'session_snapshots.session_id')
        .select(['session_snapshots.seq', 'session_snapshots.hash', 'session_snapshots.data', 'sessions.last_seq'])
        .where('session_id', '=', sessionId)
        .executeTakeFirst()
      if (!row || row.hash !== sha256(row.data) || Number(row.seq) > Number(row.last_seq)) return undefined
      const parsed = parseAnyJson(row.data)
      if (!parsed.ok) return undefined
      // The hash proves that these are the bytes written by `save`, so the shape is the one of its version.
      const stored = parsed.value as unknown as { version: number; projection: Projection }
      return stored.version === version ? stored.projection : undefined
    },
    async save(sessionId, projection) {
      const data = JSON.stringify({ version, projection })
      const row = { session_id: sessionId, seq: projection.seq, hash: sha256(data), data }
      await database.write(async (writer) => {
        await writer
          .insertInto('session_snapshots')
          .values(row)
          .onConflict((conflict) => conflict.column('session_id').doUpdateSet({ seq: row.seq, hash: row.hash, data }))
          .execute()
      })
    },
    async drop(sessionId) {
      await database.write(async (writer) => {
        await writer.deleteFrom('session_snapshots').where('session_id', '=', sessionId).execute()
      })
    },
  }
}
