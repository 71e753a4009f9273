import { z } from 'zod'
import { commitmentReplySchema, edgeReplySchema, factReplySchema } from './fact-api.ts'
import { dayOrTime, flag, id, limit, memoryKindSchema, name, share, text, time } from './memory-fields.ts'

/** What the HTTP API takes and answers under `/memories`. The same rules as in `api.ts`. */

const tier = z.enum(['short_term', 'long_term'])
const source = z.enum(['user', 'agent', 'extracted', 'tool', 'import'])

export const filePlaceSchema = z.object({
  /** As people know it. */
  path: z.string(),
  /** The whole path. */
  file: z.string(),
  first_line: z.number().int(),
  last_line: z.number().int(),
})

export const memoryReplySchema = z.object({
  id: z.string(),
  kind: memoryKindSchema,
  content: z.string(),
  title: z.string().nullable(),
  category: z.string().nullable(),
  tags: z.array(z.string()),
  tier,
  /** As written; what it has faded to is the strength that a search tells. */
  priority: z.number(),
  source,
  label: z.enum(['owner', 'internal', 'untrusted']),
  session_id: z.string().nullable(),
  turn_id: z.string().nullable(),
  speaker: z.string().nullable(),
  happened_from: time.nullable(),
  happened_until: time.nullable(),
  created_at: time,
  updated_at: time,
  used_at: time,
  use_count: z.number().int(),
  /** Not null: history, which something newer took the place of. */
  superseded_at: time.nullable(),
  superseded_by: z.string().nullable(),
  /** How to name it: `notes/trip.md:12-18` or `memory:ID`. */
  citation: z.string(),
  file: filePlaceSchema.nullable(),
})
export type MemoryReply = z.infer<typeof memoryReplySchema>

/** Which are wanted, in a list and in a search. */
const filter = {
  kind: memoryKindSchema.optional(),
  tier: tier.optional(),
  source: source.optional(),
  tag: text.max(200).optional(),
  /** When it was told. */
  from: dayOrTime.optional(),
  until: dayOrTime.optional(),
}
const filterSchema = z.object(filter)
export type MemoryFilterQuery = z.infer<typeof filterSchema>

export const memoriesQuerySchema = z.strictObject({
  ...filter,
  /** `false`: without the passages of files and conversations. */
  passages: z.enum(['true', 'false']).default('true'),
  limit: limit(500, 50),
  /** `next_cursor` of the page before. */
  cursor: z.string().max(300).optional(),
})
export const memoriesReplySchema = z.object({
  memories: z.array(memoryReplySchema),
  /** Null on the last page. */
  next_cursor: z.string().nullable(),
})
export type MemoriesReply = z.infer<typeof memoriesReplySchema>

const tags = z.array(text).max(16)

export const memoryRequestSchema = z.strictObject({
  content: text,
  title: z.string().max(200).optional(),
  category: z.string().max(64).optional(),
  tags: tags.default([]),
  tier: tier.optional(),
  priority: share.optional(),
})
export type MemoryRequest = z.input<typeof memoryRequestSchema>
export const addedMemoryReplySchema = z.object({
  memory: memoryReplySchema,
  /** False where the same was known already. */
  is_new: z.boolean(),
})
export type AddedMemoryReply = z.infer<typeof addedMemoryReplySchema>

export const memoryEditRequestSchema = z
  .strictObject({
    content: text.optional(),
    title: z.string().max(200).nullable().optional(),
    category: z.string().max(64).nullable().optional(),
    tags: tags.optional(),
    tier: tier.optional(),
    priority: share.optional(),
  })
  .refine((edit) => Object.keys(edit).length > 0, 'needs something to change')
export type MemoryEditRequest = z.infer<typeof memoryEditRequestSchema>
export const editedMemoryReplySchema = z.object({ change_id: z.string(), memory: memoryReplySchema })
export type EditedMemoryReply = z.infer<typeof editedMemoryReplySchema>

export const forgottenMemoryReplySchema = z.object({
  /** What to undo it by, for 30 days. */
  change_id: z.string(),
  memory: memoryReplySchema,
  /** What merely repeated it went along. */
  also_forgotten: z.array(memoryReplySchema),
})
export type ForgottenMemoryReply = z.infer<typeof forgottenMemoryReplySchema>

export const episodeReplySchema = z.object({
  summary: z.string(),
  topics: z.array(z.string()),
  decisions: z.array(z.string()),
  tone: z.string().nullable(),
  started_at: time,
  ended_at: time,
})
export type EpisodeReply = z.infer<typeof episodeReplySchema>

export const changeReplySchema = z.object({
  id: z.string(),
  memory_id: z.string(),
  action: z.enum(['edited', 'forgotten']),
  made_by: z.enum(['user', 'agent']),
  at: time,
  undo_until: time,
  /** What it was before. */
  before: memoryReplySchema,
})
export type ChangeReply = z.infer<typeof changeReplySchema>

/** One memory with all that belongs to it. */
export const memoryDetailReplySchema = z.object({
  memory: memoryReplySchema,
  fact: factReplySchema.nullable(),
  episode: episodeReplySchema.nullable(),
  commitment: commitmentReplySchema.nullable(),
  edges: z.array(edgeReplySchema),
  decay: z.object({
    policy: z.enum(['time', 'cycles']),
    /** What its priority has faded to. */
    strength: z.number(),
    /** Left out of recall. */
    is_faded: z.boolean(),
    /** From its last use on, past now: offsets are days from now, or cycles by that policy. */
    points: z.array(z.object({ offset: z.number(), strength: z.number() })),
  }),
  /** The values that a fact has had, newest first, and the changes that can still be undone. */
  history: z.object({ facts: z.array(factReplySchema), changes: z.array(changeReplySchema) }),
})
export type MemoryDetailReply = z.infer<typeof memoryDetailReplySchema>

export const memorySearchQuerySchema = z.strictObject({
  q: text,
  ...filter,
  limit: limit(100, 10),
  /** `true`: every result says why. */
  explain: flag,
})
export const memorySearchReplySchema = z.object({
  results: z.array(
    z.object({
      rank: z.number().int(),
      /** Comparable only inside one answer. */
      score: z.number(),
      memory: memoryReplySchema,
      why: z
        .object({
          signals: z.array(
            z.object({
              name: z.string(),
              rank: z.number().int().optional(),
              value: z.number(),
              added: z.number(),
            }),
          ),
          /** What its priority has faded to. */
          strength: z.number(),
        })
        .optional(),
    }),
  ),
})
export type MemorySearchReply = z.infer<typeof memorySearchReplySchema>

const style = z.enum(['structured', 'narrative', 'factual'])

export const deepRecallRequestSchema = z.strictObject({
  question: text.max(10_000),
  limit: z.number().int().min(1).max(50).default(10),
  style: style.default('structured'),
})
export type DeepRecallRequest = z.input<typeof deepRecallRequestSchema>
export const deepRecallReplySchema = z.object({
  summary: z.string(),
  /** The one that the summary is written in. */
  style,
  /** The question itself is the first. */
  searches: z.array(z.string()),
  memories: z.array(
    z.object({
      memory: memoryReplySchema,
      relevance: z.number(),
      /** Along which the graph led there; null for what a search found. */
      relation: z.string().nullable(),
    }),
  ),
  /** Why it is less than was asked for. */
  notes: z.array(z.string()),
})
export type DeepRecallReply = z.infer<typeof deepRecallReplySchema>

/** How far a deep recall is. */
export const deepProgressSchema = z.discriminatedUnion('status', [
  z.object({ status: z.literal('expanding'), query: z.string() }),
  z.object({ status: z.literal('searching'), searches: z.array(z.string()) }),
  z.object({ status: z.literal('found'), count: z.number().int(), memories: z.array(z.string()) }),
])
export type DeepProgressReply = z.infer<typeof deepProgressSchema>

export const changesQuerySchema = z.strictObject({ limit: limit(500, 50) })
export const changesReplySchema = z.object({ changes: z.array(changeReplySchema) })
export type ChangesReply = z.infer<typeof changesReplySchema>
/** Without one, the newest. */
export const undoRequestSchema = z.strictObject({ change: id.optional() })
export const undoReplySchema = z.object({ change: changeReplySchema })
export type UndoReply = z.infer<typeof undoReplySchema>

/** For good: there is no undo. */
export const forgetEverythingRequestSchema = z.strictObject({
  about: name,
  confirm: z.literal(true, { error: 'must be true: this cannot be undone' }),
})
export const forgotEverythingReplySchema = z.object({ memories: z.number().int(), events: z.number().int() })
export type ForgotEverythingReply = z.infer<typeof forgotEverythingReplySchema>
