import { z } from 'zod'
import { memoryKindSchema } from './memory-fields.ts'

/** What the HTTP API takes and answers under `/memories` for all of them at once: files, learning, transfer, figures. */

const count = z.number().int()
const path = z.string().min(1).max(4_096)

const rootSchema = z.object({
  path: z.string(),
  /** Part of the workspace: always indexed, cannot be removed. */
  is_workspace: z.boolean(),
})

export const syncReplySchema = z.object({
  /** False where it was stopped: the next one goes on. */
  is_finished: z.boolean(),
  files: count,
  added: count,
  changed: count,
  removed: count,
  passages: z.object({ added: count, removed: count }),
  roots: z.array(rootSchema.extend({ state: z.string(), message: z.string().optional() })),
  skipped: z.object({
    counts: z.record(z.string(), count),
    examples: z.array(z.object({ path: z.string(), reason: z.string(), message: z.string() })),
  }),
})
export type SyncReply = z.infer<typeof syncReplySchema>
export const syncProgressSchema = z.object({ done: count, total: count, path: z.string() })
export type SyncProgressReply = z.infer<typeof syncProgressSchema>

export const rootsReplySchema = z.object({
  roots: z.array(rootSchema.extend({ files: count })),
  /** What the last sync since the start of the daemon reported. */
  last_sync: syncReplySchema.nullable(),
})
export type RootsReply = z.infer<typeof rootsReplySchema>
/** A file or folder of the machine that the daemon runs on, by its whole path. */
export const rootRequestSchema = z.strictObject({ path })
export const rootQuerySchema = z.strictObject({ path })
export const addedRootReplySchema = z.object({ root: rootSchema, is_new: z.boolean() })
export type AddedRootReply = z.infer<typeof addedRootReplySchema>

/** One session by id or contact; without one, all of them and the files that the user keeps for Familiar. */
export const consolidateRequestSchema = z.strictObject({ session: z.string().min(1).max(200).optional() })
export const consolidatedReplySchema = z.object({
  sessions: count,
  files: count,
  added: z.object({ episodes: count, facts: count, commitments: count, aliases: count }),
  /** What was not consolidated, and why; it is tried again the next time. */
  problems: z.array(z.object({ session_id: z.string().nullable(), reason: z.string(), message: z.string() })),
})
export type ConsolidatedReply = z.infer<typeof consolidatedReplySchema>
export const consolidateProgressSchema = z.object({ done: count, total: count, session: z.string().nullable() })
export type ConsolidateProgressReply = z.infer<typeof consolidateProgressSchema>

export const exportQuerySchema = z.strictObject({ format: z.enum(['jsonl', 'markdown']).default('jsonl') })

export const importQuerySchema = z.strictObject({
  /** How far what comes from elsewhere is trusted. What this user exported keeps what it had. */
  label: z.enum(['untrusted', 'owner']).default('untrusted'),
  /** `true`: folders that the file names are indexed, too. */
  add_folders: z.enum(['true', 'false']).default('false'),
})
export const importReplySchema = z.object({
  /** `plain`: not from an export; a list of notes from anywhere. */
  format: z.enum(['jsonl', 'markdown', 'plain']),
  /** It was exported for this same user. */
  is_own: z.boolean(),
  /** False where it was stopped: the same file again completes it. */
  is_finished: z.boolean(),
  added: z.object({ memories: count, edges: count, names: count }),
  known: count,
  folders: z.object({ added: z.array(z.string()), left: z.array(z.string()) }),
  /** How many lines were passed over, and the first of them. */
  problems: z.object({ count, first: z.array(z.object({ line: count, message: z.string() })) }),
})
export type ImportReply = z.infer<typeof importReplySchema>
export const importProgressSchema = z.object({ line: count, added: count })
export type ImportProgressReply = z.infer<typeof importProgressSchema>

const troubleSchema = z.object({
  failures: count,
  passed_over: count,
  last: z.object({ at: z.string(), session_id: z.string(), reason: z.string(), passed_over: z.boolean() }),
})
export type TroubleReply = z.infer<typeof troubleSchema>

export const memoryStatsReplySchema = z.object({
  /** What is true or told now. */
  memories: z.record(memoryKindSchema, count),
  /** What something newer took the place of. */
  superseded: count,
  aliases: count,
  edges: count,
  /** What was changed or forgotten and can still be undone. */
  changes: count,
  files: z.object({ roots: count, files: count, bytes: count }),
  /** Null where nothing is embedded: recall goes by words. */
  embedding: z
    .object({
      model: z.string(),
      embedded: count,
      total: count,
      is_running: z.boolean(),
      problem: z.string().nullable(),
    })
    .nullable(),
  learning: z.object({
    /** Sessions that wait to be learnt from. */
    waiting: count,
    extraction: troubleSchema.nullable(),
    consolidation: troubleSchema.nullable(),
  }),
  /** The size of the database, all that is in it. */
  database_bytes: count,
})
export type MemoryStatsReply = z.infer<typeof memoryStatsReplySchema>
