import { sql } from 'kysely'
import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { edgeReplySchema } from '../protocol/memory.ts'
import { type Database, type Reader, reusableQuery, type Writer } from '../storage/database.ts'
import type { MemoryEdgeRow } from '../storage/tables.ts'
import { selectMemories } from './memories.ts'
import { requireLine } from './memory.ts'

type MemoryEdge = z.infer<typeof edgeReplySchema>

interface RelatedMemory {
  id: string
  /** Steps from the start. */
  distance: number
  /** The product of the weights on the best path. */
  weight: number
  /** The edge by which it was reached. */
  via: MemoryEdge
}

/** Relations between memories. Edges are walked in both directions; an edge to another user's memory is impossible. */
export type MemoryGraph = ReturnType<typeof createGraph>

const usualDepth = 2
const deepest = 5
const usualLimit = 50
const maxRelationLength = 100
// A memory with very many edges must not make a walk read all of them: the strongest are followed.
const edgesPerMemory = 200
const memoriesPerStep = 500

export function createGraph({ database, clock }: { database: Database; clock: Clock }) {
  const graph = {
    /** Undefined if either end is not that user's. Repeating an edge keeps the higher weight. */
    link: (userId: string, edge: MemoryEdge): Promise<MemoryEdge | undefined> =>
      database.write((writer) => graph.linkIn(writer, userId, edge)),

    async linkIn(writer: Writer, userId: string, edge: MemoryEdge): Promise<MemoryEdge | undefined> {
      const relation = requireLine(edge.relation, { what: 'A relation', longest: maxRelationLength })
      const ends = new Set([edge.sourceId, edge.targetId])
      const owned = await selectMemories(writer, userId)
        .where('id', 'in', [...ends])
        .execute()
      if (ends.size !== 2 || owned.length !== 2) return undefined
      const weight = Math.min(1, Math.max(0, edge.weight))
      const row = await writer
        .insertInto('memory_edges')
        .values({
          user_id: userId,
          source_id: edge.sourceId,
          target_id: edge.targetId,
          relation,
          weight,
          created_at: clock.now(),
        })
        .onConflict((conflict) =>
          conflict.columns(['source_id', 'target_id', 'relation']).doUpdateSet({
            weight: sql`case when memory_edges.weight < excluded.weight then excluded.weight else memory_edges.weight end`,
          }),
        )
        .returningAll()
        .executeTakeFirstOrThrow()
      return edgeFromRow(row)
    },

    async unlink(userId: string, { sourceId, targetId, relation }: Omit<MemoryEdge, 'weight'>): Promise<boolean> {
      const removed = await database.write((writer) =>
        writer
          .deleteFrom('memory_edges')
          .where('user_id', '=', userId)
          .where('source_id', '=', sourceId)
          .where('target_id', '=', targetId)
          .where('relation', '=', relation)
          .executeTakeFirst(),
      )
      return Number(removed.numDeletedRows) > 0
    },

    /** Breadth first, each memory once, nearest first, at most `limit`. Cycles end. */
    async related(
      userId: string,
      ids: readonly string[],
      { depth = usualDepth, limit = usualLimit }: { depth?: number; limit?: number } = {},
    ): Promise<RelatedMemory[]> {
      const reached = new Map(ids.map((id) => [id, 1]))
      const found: RelatedMemory[] = []
      let edgeOfWalk = [...reached.keys()]
      for (let distance = 1; distance <= Math.min(depth, deepest) && edgeOfWalk.length > 0; distance += 1) {
        const step = new Map<string, RelatedMemory>()
        for (const via of await edgesAt(database.read, userId, edgeOfWalk)) {
          for (const [from, to] of [
            [via.sourceId, via.targetId],
            [via.targetId, via.sourceId],
          ] as const) {
            const before = reached.get(from)
            if (before === undefined || reached.has(to)) continue
            const weight = before * via.weight
            if (weight > (step.get(to)?.weight ?? -1)) step.set(to, { id: to, distance, weight, via })
          }
        }
        const next = [...step.values()].toSorted((a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1))
        found.push(...next.slice(0, Math.max(0, limit - found.length)))
        if (found.length >= limit) break
        for (const { id, weight } of next) reached.set(id, weight)
        edgeOfWalk = next.map((memory) => memory.id)
      }
      return found
    },

    /** For drawing: the edges among and around these memories, or of the newest if none are given. */
    async edges(userId: string, { ids, limit }: { ids?: readonly string[]; limit: number }): Promise<MemoryEdge[]> {
      if (ids) return (await edgesAt(database.read, userId, ids)).slice(0, limit)
      const rows = await database.read
        .selectFrom('memory_edges')
        .selectAll()
        .where('user_id', '=', userId)
        .orderBy('created_at', 'desc')
        .limit(limit)
        .execute()
      return rows.map(edgeFromRow)
    },
  }
  return graph
}

/** In both directions, strongest first. Both ends belong to that user: other edges are impossible. */
async function edgesAt(reader: Reader, userId: string, ids: readonly string[]): Promise<MemoryEdge[]> {
  const edges = new Map<string, MemoryEdge>()
  for (const id of ids.slice(0, memoriesPerStep)) {
    for (const select of selectEdges) {
      const { rows } = await select(reader, { userId, id })
      for (const row of rows) edges.set(`${row.source_id}\n${row.target_id}\n${row.relation}`, edgeFromRow(row))
    }
  }
  return [...edges.values()].toSorted((a, b) => b.weight - a.weight)
}

const selectEdges = (['source_id', 'target_id'] as const).map((end) =>
  reusableQuery((database, { userId, id }: { userId: string; id: string }) =>
    database
      .selectFrom('memory_edges')
      .selectAll()
      .where('user_id', '=', userId)
      .where(end, '=', id)
      .orderBy('weight', 'desc')
      .limit(edgesPerMemory),
  ),
)

function edgeFromRow(row: MemoryEdgeRow): MemoryEdge {
  return { sourceId: row.source_id, targetId: row.target_id, relation: row.relation, weight: row.weight }
}
