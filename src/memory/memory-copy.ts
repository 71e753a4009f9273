import { z } from 'zod'
import type { Writer } from '../storage/database.ts'
import { type Memories, selectMemories } from './memories.ts'
import type { Memory } from './memory.ts'

const memorySchema = z.object({
  number: z.number(),
  id: z.string(),
  userId: z.string(),
  kind: z.enum(['note', 'fact', 'episode', 'commitment', 'chunk']),
  content: z.string(),
  title: z.string().nullable(),
  category: z.string().nullable(),
  tags: z.array(z.string()),
  tier: z.enum(['short_term', 'long_term']),
  priority: z.number(),
  source: z.enum(['user', 'agent', 'extracted', 'tool', 'import']),
  label: z.enum(['owner', 'internal', 'untrusted']),
  sessionId: z.string().nullable(),
  turnId: z.string().nullable(),
  threadId: z.string().nullable(),
  position: z.number().nullable(),
  passages: z.number(),
  speaker: z.string().nullable(),
  happenedFrom: z.number().nullable(),
  happenedUntil: z.number().nullable(),
  createdAt: z.number(),
  updatedAt: z.number(),
  usedAt: z.number(),
  useCount: z.number(),
  cycle: z.number(),
  supersededAt: z.number().nullable(),
  supersededBy: z.string().nullable(),
}) satisfies z.ZodType<Memory>

const rowSchema = z.record(z.string(), z.union([z.string(), z.number(), z.null()]))
const detailTables = ['facts', 'episodes', 'commitments', 'chunks'] as const

/** A memory with everything that hangs on it but its vectors, which come back by themselves. */
export const memoryCopySchema = z.object({
  memory: memorySchema,
  /** At most one: the row of its kind's own table. */
  details: z.array(z.object({ table: z.enum(detailTables), row: rowSchema })),
  edges: z.array(rowSchema),
})

export type MemoryCopy = z.infer<typeof memoryCopySchema>

export async function copyMemory(writer: Writer, memory: Memory): Promise<MemoryCopy> {
  const details: MemoryCopy['details'] = []
  for (const table of detailTables) {
    const row = await writer
      .selectFrom(table)
      .selectAll()
      .where('user_id', '=', memory.userId)
      .where('id', '=', memory.id)
      .executeTakeFirst()
    if (row) details.push({ table, row: { ...row } })
  }
  const edges = await writer
    .selectFrom('memory_edges')
    .selectAll()
    .where('user_id', '=', memory.userId)
    .where((where) => where.or([where('source_id', '=', memory.id), where('target_id', '=', memory.id)]))
    .execute()
  return { memory: { ...memory, tags: [...memory.tags] }, details, edges: edges.map((edge) => ({ ...edge })) }
}

/** Under the ids of before. What is still there goes back to what it was; edges whose other end is gone stay away. */
export async function restoreCopies(memories: Memories, writer: Writer, copies: readonly MemoryCopy[]): Promise<void> {
  for (const { memory, details } of copies) {
    const { userId, id } = memory
    const there = await selectMemories(writer, userId).where('id', '=', id).executeTakeFirst()
    if (there) {
      const { number, used_at, use_count } = there
      await memories.replaceIn(writer, { ...memory, number, usedAt: used_at, useCount: use_count })
    } else await memories.insertIn(writer, memory)
    for (const { table, row } of details) {
      await writer.deleteFrom(table).where('user_id', '=', userId).where('id', '=', id).execute()
      if (table === 'chunks' && !(await hasFile(writer, String(row.file_id)))) continue
      // The row is of this table's shape: it was read from there.
      await writer
        .insertInto(table)
        .values(row as never)
        .execute()
    }
  }
  for (const edge of copies.flatMap((copy) => copy.edges)) await restoreEdge(writer, edge)
}

async function hasFile(writer: Writer, fileId: string): Promise<boolean> {
  const row = await writer.selectFrom('memory_files').select('id').where('id', '=', fileId).executeTakeFirst()
  return row !== undefined
}

async function restoreEdge(writer: Writer, edge: MemoryCopy['edges'][number]): Promise<void> {
  const ends = [String(edge.source_id), String(edge.target_id)]
  const there = await selectMemories(writer, String(edge.user_id)).where('id', 'in', ends).execute()
  if (there.length < 2) return
  await writer
    .insertInto('memory_edges')
    .values(edge as never)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
