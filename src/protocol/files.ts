import { z } from 'zod'
import { labelSchema } from './messages.ts'
import { onMachine, operation, time, type Value } from './operation.ts'

/** Completions of `@` and `@@`. */

export const finderQuerySchema = z.strictObject({
  kind: z.enum(['file', 'block']).default('file'),
  /** Some characters of the name, in order; all words must match. Empty: the first entries. */
  query: z.string().max(200).default(''),
  limit: z.coerce.number().int().min(1).max(100).default(20),
})

export const finderReplySchema = z.object({
  /** The best first. */
  found: z.array(
    z.object({
      /** A file's path from its root, or a block's label. */
      name: z.string(),
      /** The reference in a message: `@notes/a.md`, `@"my file.md"`, `@@plan.md`. */
      reference: z.string(),
    }),
  ),
  /** How many match. */
  total: z.number(),
  /** The index is not complete yet: a later request may find more. */
  isIndexing: z.boolean(),
  /** There are more files than the index can hold. */
  isCut: z.boolean(),
})

/** Blocks, pins and, for this machine's command line, files. */

const count = z.number().int()
const version = z.number().int().min(0)
/** Not validated yet. */
const label = z.string().min(1).max(400)
const content = z.string().max(2_000_000)
const agent = z.string().min(1).max(200)
const path = z.string().min(1).max(4_096)
const position = z.number().int().min(1).max(10_000)
/** Writes only if the current version has this etag; null: only if nothing exists. */
const etag = z.string().max(100).nullable()

const placeFields = { uri: z.string(), path: z.string() }

export const assetReadReplySchema = z.object({
  ...placeFields,
  text: z.string(),
  /** From 1; 0 for an empty text. */
  firstLine: count,
  lastLine: count,
  lines: count,
  /** How to read on, if there is more. */
  note: z.string().nullable(),
  etag: z.string(),
  version,
  trust: labelSchema,
  modifiedAt: time,
})

export const assetWrittenReplySchema = z.object({
  ...placeFields,
  isNew: z.boolean(),
  isChanged: z.boolean(),
  /** Null if it no longer exists. */
  etag: z.string().nullable(),
  version,
  trust: labelSchema,
  /** For an edit: the number of replacements. */
  count: count.optional(),
  /** For an undo: the restored version. */
  restored: version.optional(),
})

export const assetsReplySchema = z.object({
  entries: z.array(z.object({ ...placeFields, bytes: count, modifiedAt: time })),
  isCut: z.boolean(),
})

export const assetHistoryReplySchema = z.object({
  ...placeFields,
  /** The newest first. */
  versions: z.array(
    z.object({
      version,
      at: time,
      author: z.enum(['user', 'agent']),
      trust: labelSchema,
      tokens: count,
      /** False: it did not exist. */
      wasThere: z.boolean(),
    }),
  ),
})

export const assetVersionReplySchema = z.object({
  ...placeFields,
  version,
  /** Null: it did not exist. */
  content: z.string().nullable(),
})

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
  pinnedAt: time,
})
export const pinsReplySchema = z.object({ pins: z.array(pinReplySchema), tokens: count, budget: count })
export type PinnedList = Value<typeof pinsReplySchema>
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

export const finder = {
  find: operation('GET /api/v1/finder', 'Find files or blocks by a few letters of their names, best first.', {
    scope: 'owner',
    query: finderQuerySchema,
    reply: finderReplySchema,
  }),
}

export const blocks = {
  list: operation('GET /api/v1/blocks', 'List blocks. With `prefix`, list those in a folder.', {
    scope: 'read',
    query: blocksQuerySchema,
    reply: assetsReplySchema,
  }),
  read: operation('GET /api/v1/blocks/:label', 'Get a block, or a range of its lines.', {
    scope: 'read',
    query: blockQuerySchema,
    reply: assetReadReplySchema,
  }),
  write: operation(
    'PUT /api/v1/blocks/:label',
    'Create or replace a block. Supports `If-Match` and `If-None-Match: *`.',
    { scope: 'owner', body: blockWriteRequestSchema, reply: assetWrittenReplySchema },
  ),
  edit: operation(
    'POST /api/v1/blocks/:label/edit',
    'Replace text in a block. The text must occur exactly once, unless `all` is set.',
    { scope: 'owner', body: blockEditRequestSchema, reply: assetWrittenReplySchema },
  ),
  remove: operation('DELETE /api/v1/blocks/:label', 'Delete a block. Its versions are kept, so this can be undone.', {
    scope: 'owner',
    query: blockRemoveQuerySchema,
    reply: assetWrittenReplySchema,
  }),
  history: operation('GET /api/v1/blocks/:label/history', 'List the versions of a block, newest first.', {
    scope: 'read',
    reply: assetHistoryReplySchema,
  }),
  version: operation('GET /api/v1/blocks/:label/versions/:version', 'Get the content of a version of a block.', {
    scope: 'read',
    reply: assetVersionReplySchema,
  }),
  undo: operation(
    'POST /api/v1/blocks/:label/undo',
    'Restore an earlier version of a block. Default: the previous one.',
    { scope: 'owner', body: blockUndoRequestSchema, reply: assetWrittenReplySchema },
  ),
}

export const pins = {
  list: operation('GET /api/v1/pins', 'List pinned blocks in order, with the tokens they use.', {
    scope: 'read',
    query: pinsQuerySchema,
    reply: pinsReplySchema,
  }),
  add: operation('POST /api/v1/pins', 'Pin a block, or move a pinned block.', {
    scope: 'owner',
    body: pinRequestSchema,
    reply: pinReplySchema,
  }),
  remove: operation('DELETE /api/v1/pins', 'Unpin a block. The block is kept.', {
    scope: 'owner',
    query: unpinQuerySchema,
    reply: pinsReplySchema,
  }),
}

export const localFiles = {
  read: operation('POST /api/v1/local/files/read', 'Get a file or block, or a range of its lines.', {
    ...onMachine,
    body: fileReadRequestSchema,
    reply: assetReadReplySchema,
  }),
  write: operation('POST /api/v1/local/files/write', 'Create or replace a file or block.', {
    ...onMachine,
    body: fileWriteRequestSchema,
    reply: assetWrittenReplySchema,
  }),
  edit: operation('POST /api/v1/local/files/edit', 'Replace text in a file or block.', {
    ...onMachine,
    body: fileEditRequestSchema,
    reply: assetWrittenReplySchema,
  }),
  list: operation('POST /api/v1/local/files/list', 'List the files or blocks in a folder.', {
    ...onMachine,
    body: fileListRequestSchema,
    reply: assetsReplySchema,
  }),
  history: operation('POST /api/v1/local/files/history', 'List the versions of a file or block, newest first.', {
    ...onMachine,
    body: fileHistoryRequestSchema,
    reply: assetHistoryReplySchema,
  }),
  undo: operation(
    'POST /api/v1/local/files/undo',
    'Restore an earlier version of a file or block. Default: the previous one.',
    { ...onMachine, body: fileUndoRequestSchema, reply: assetWrittenReplySchema },
  ),
}
