import { z } from 'zod'
import { labelSchema } from './label.ts'

/** What the HTTP API takes and answers under `/blocks`, `/pins` and, for this machine's command line, `/local/files`. */

const count = z.number().int()
const version = z.number().int().min(0)
/** A label that no rule has looked at yet. */
const label = z.string().min(1).max(400)
const content = z.string().max(2_000_000)
const agent = z.string().min(1).max(200)
const path = z.string().min(1).max(4_096)
const position = z.number().int().min(1).max(10_000)
/** Written only where this is still what is there; null where nothing may be. */
const etag = z.string().max(100).nullable()

const placeFields = { uri: z.string(), path: z.string() }

export const assetReadReplySchema = z.object({
  ...placeFields,
  text: z.string(),
  /** From 1; 0 of an empty text. */
  first_line: count,
  last_line: count,
  lines: count,
  /** How to read on, where there is more. */
  note: z.string().nullable(),
  etag: z.string(),
  version,
  trust: labelSchema,
  modified_at: z.string(),
})
export type AssetReadReply = z.infer<typeof assetReadReplySchema>

export const assetWrittenReplySchema = z.object({
  ...placeFields,
  is_new: z.boolean(),
  is_changed: z.boolean(),
  /** Null where it is gone now. */
  etag: z.string().nullable(),
  version,
  trust: labelSchema,
  /** Of an edit: in how many places. */
  count: count.optional(),
  /** Of an undo: which version is back. */
  restored: version.optional(),
})
export type AssetWrittenReply = z.infer<typeof assetWrittenReplySchema>

export const assetsReplySchema = z.object({
  entries: z.array(z.object({ ...placeFields, bytes: count, modified_at: z.string() })),
  is_cut: z.boolean(),
})
export type AssetsReply = z.infer<typeof assetsReplySchema>

export const assetHistoryReplySchema = z.object({
  ...placeFields,
  /** The newest first. */
  versions: z.array(
    z.object({
      version,
      at: z.string(),
      author: z.enum(['user', 'agent']),
      trust: labelSchema,
      tokens: count,
      /** False: it was not there. */
      was_there: z.boolean(),
    }),
  ),
})
export type AssetHistoryReply = z.infer<typeof assetHistoryReplySchema>

export const assetVersionReplySchema = z.object({
  ...placeFields,
  version,
  /** Null: it was not there. */
  content: z.string().nullable(),
})
export type AssetVersionReply = z.infer<typeof assetVersionReplySchema>

const line = z.coerce.number().int().min(1).optional()
export const blocksQuerySchema = z.strictObject({ prefix: z.string().max(400).default('') })
export const blockQuerySchema = z.strictObject({ offset: line, limit: line })
export const blockWriteRequestSchema = z.strictObject({ content, etag: etag.optional() })
const editFields = { old: content, new: content, all: z.boolean().optional(), etag: etag.optional() }
export const blockEditRequestSchema = z.strictObject(editFields)
export const blockRemoveQuerySchema = z.strictObject({ etag: z.string().max(100).optional() })
export const blockUndoRequestSchema = z.strictObject({ version: version.optional(), etag: etag.optional() })

export const pinReplySchema = z.object({
  label: z.string(),
  position: count,
  tokens: count,
  trust: labelSchema,
  pinned_at: z.string(),
})
export type PinReply = z.infer<typeof pinReplySchema>
export const pinsReplySchema = z.object({ pins: z.array(pinReplySchema), tokens: count, budget: count })
export type PinsReply = z.infer<typeof pinsReplySchema>
export const pinsQuerySchema = z.strictObject({ agent: agent.default('main') })
export const pinRequestSchema = z.strictObject({
  label,
  position: position.optional(),
  agent: agent.default('main'),
})
export const unpinQuerySchema = z.strictObject({ label, agent: agent.default('main') })

export const fileReadRequestSchema = z.strictObject({
  path,
  offset: z.number().int().min(1).optional(),
  limit: z.number().int().min(1).optional(),
})
export const fileWriteRequestSchema = z.strictObject({ path, content, etag: etag.optional() })
export const fileEditRequestSchema = z.strictObject({ path, ...editFields })
export const fileListRequestSchema = z.strictObject({ path: z.string().max(4_096).default('') })
export const fileHistoryRequestSchema = z.strictObject({ path })
export const fileUndoRequestSchema = z.strictObject({ path, version: version.optional(), etag: etag.optional() })
