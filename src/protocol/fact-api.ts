import { z } from 'zod'
import { dayOrTime, flag, id, limit, memoryKindSchema, name, share, text, time } from './memory-fields.ts'

/** What the HTTP API takes and answers under `/memories` for facts, commitments, names and edges. */

const commitmentState = z.enum(['open', 'done', 'expired', 'cancelled'])

/** Of a day, by its end. */
const deadline = dayOrTime

export const factReplySchema = z.object({
  id: z.string(),
  entity: z.string(),
  attribute: z.string(),
  value: z.string(),
  confidence: z.number(),
  valid_from: time,
  /** Null for what is true now. */
  valid_to: time.nullable(),
})
export type FactReply = z.infer<typeof factReplySchema>

export const commitmentReplySchema = z.object({
  id: z.string(),
  /** Who owes it: `user`, or a name. */
  who: z.string(),
  to_whom: z.string().nullable(),
  what: z.string(),
  deadline: time.nullable(),
  state: commitmentState,
  closed_at: time.nullable(),
  created_at: time,
})
export type CommitmentReply = z.infer<typeof commitmentReplySchema>

export const edgeReplySchema = z.object({
  source_id: z.string(),
  target_id: z.string(),
  relation: z.string(),
  weight: z.number(),
})
export type EdgeReply = z.infer<typeof edgeReplySchema>

export const factsQuerySchema = z.strictObject({
  entity: name.optional(),
  attribute: name.optional(),
  value: text.max(10_000).optional(),
  /** `true`: also what was true before. */
  history: flag,
  /** `true`: also how many different entities there are for it. */
  count: flag,
  limit: limit(5_000, 50),
})
export const factsReplySchema = z.object({
  facts: z.array(factReplySchema),
  /** How many different ones have it now; only with `count`. */
  entities: z.number().int().optional(),
})
export type FactsReply = z.infer<typeof factsReplySchema>
export const factRequestSchema = z.strictObject({
  /** `user` for the user themself. */
  entity: name,
  attribute: name,
  value: text.max(10_000),
  confidence: share.optional(),
})
export type FactRequest = z.infer<typeof factRequestSchema>
export const writtenFactReplySchema = z.object({
  outcome: z.enum(['added', 'confirmed', 'replaced']),
  fact: factReplySchema,
  /** What it replaced. */
  old: factReplySchema.nullable(),
  /** What undoes it; null where nothing was replaced. */
  change_id: z.string().nullable(),
})
export type WrittenFactReply = z.infer<typeof writtenFactReplySchema>

/** From now on a new value of this attribute stands beside the others. */
export const attributeRequestSchema = z.strictObject({ attribute: name, is_multi_valued: z.literal(true) })
export const attributeReplySchema = z.object({ attribute: z.string(), is_multi_valued: z.boolean() })
export type AttributeReply = z.infer<typeof attributeReplySchema>

export const commitmentsQuerySchema = z.strictObject({
  state: commitmentState.optional(),
  who: name.optional(),
  to_whom: name.optional(),
  limit: limit(500, 50),
})
export const commitmentsReplySchema = z.object({ commitments: z.array(commitmentReplySchema) })
export type CommitmentsReply = z.infer<typeof commitmentsReplySchema>
export const commitmentRequestSchema = z.strictObject({
  what: text.max(2_000),
  who: name.default('user'),
  to_whom: name.optional(),
  deadline: deadline.optional(),
})
export type CommitmentRequest = z.input<typeof commitmentRequestSchema>
export const addedCommitmentReplySchema = z.object({ commitment: commitmentReplySchema, is_new: z.boolean() })
export type AddedCommitmentReply = z.infer<typeof addedCommitmentReplySchema>
export const commitmentEditRequestSchema = z
  .strictObject({ state: commitmentState.exclude(['expired']).optional(), deadline: deadline.nullable().optional() })
  .refine((edit) => Object.keys(edit).length > 0, 'needs "state" or "deadline"')
export type CommitmentEditRequest = z.infer<typeof commitmentEditRequestSchema>

const aliasSchema = z.strictObject({ alias: name, entity: name })
export const aliasQuerySchema = aliasSchema
export const aliasRequestSchema = z.strictObject(aliasSchema.shape)
export const aliasesReplySchema = z.object({ aliases: z.array(z.object({ alias: z.string(), entity: z.string() })) })
export type AliasesReply = z.infer<typeof aliasesReplySchema>
export const addedAliasReplySchema = z.object({ alias: z.string(), entity: z.string(), is_new: z.boolean() })
export type AddedAliasReply = z.infer<typeof addedAliasReplySchema>

export const removedReplySchema = z.object({ removed: z.literal(true) })
export type RemovedReply = z.infer<typeof removedReplySchema>

export const graphQuerySchema = z.strictObject({
  /** With commas between them; without any, the newest edges. */
  ids: z.string().min(1).max(4_000).optional(),
  depth: z.coerce.number().int().min(1).max(5).default(2),
  limit: limit(5_000, 100),
})
export const graphReplySchema = z.object({
  nodes: z.array(
    z.object({
      id: z.string(),
      kind: memoryKindSchema,
      title: z.string().nullable(),
      /** The beginning of its content. */
      text: z.string(),
      /** Steps from where the walk began; null where it began nowhere. */
      distance: z.number().int().nullable(),
    }),
  ),
  edges: z.array(edgeReplySchema),
})
export type GraphReply = z.infer<typeof graphReplySchema>
const edge = { source_id: id, target_id: id, relation: text.max(100) }
export const edgeQuerySchema = z.strictObject(edge)
export const edgeRequestSchema = z.strictObject({ ...edge, weight: share.default(1) })
export type EdgeRequest = z.input<typeof edgeRequestSchema>
