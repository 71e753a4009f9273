import { z } from 'zod'
import { operation, time, type Wire } from './operation.ts'

/** Memory: notes, facts, commitments, names, edges, indexed files, learning and transfer. */

const memoryKindSchema = z.enum(['note', 'fact', 'episode', 'commitment', 'chunk'])

const share = z.number().min(0).max(1)

const text = z.string().refine((value) => value.trim() !== '', 'needs some text')
const name = text.max(200)
const id = z.string().min(1).max(200)
/** A whole day such as 2026-11-20, or a time with its zone. */
const dayOrTime = z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
  error: 'must be a day such as 2026-11-20, or a time such as 2026-11-20T18:00:00Z',
})
const flag = z.enum(['true', 'false']).default('false')
const limit = (most: number, usual: number) => z.coerce.number().int().min(1).max(most).default(usual)

const count = z.number().int()
const path = z.string().min(1).max(4_096)

const rootSchema = z.object({
  path: z.string(),
  /** Part of the workspace: always indexed, cannot be removed. */
  isWorkspace: z.boolean(),
})

export const syncReplySchema = z.object({
  /** False if it was stopped: the next sync continues. */
  isFinished: z.boolean(),
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
export type SyncReply = Wire<typeof syncReplySchema>
export const syncProgressSchema = z.object({ done: count, total: count, path: z.string() })
export type SyncProgressReply = Wire<typeof syncProgressSchema>

export const rootsReplySchema = z.object({
  roots: z.array(rootSchema.extend({ files: count })),
  /** The report of the last sync since the daemon started. */
  lastSync: syncReplySchema.nullable(),
})
export type RootsReply = Wire<typeof rootsReplySchema>
/** The absolute path of a file or folder on the machine of the daemon. */
export const rootRequestSchema = z.strictObject({ path })
export const rootQuerySchema = z.strictObject({ path })
export const addedRootReplySchema = z.object({ root: rootSchema, isNew: z.boolean() })

/** A session by id or contact; default: all sessions, and the files that the user keeps for Familiar. */
export const consolidateRequestSchema = z.strictObject({ session: z.string().min(1).max(200).optional() })
export const consolidatedReplySchema = z.object({
  sessions: count,
  files: count,
  added: z.object({ episodes: count, facts: count, commitments: count, aliases: count }),
  /** Failed sessions and files. They are retried the next time. */
  problems: z.array(z.object({ sessionId: z.string().nullable(), reason: z.string(), message: z.string() })),
})
export const consolidateProgressSchema = z.object({ done: count, total: count, session: z.string().nullable() })
export type ConsolidateProgressReply = Wire<typeof consolidateProgressSchema>

export const exportQuerySchema = z.strictObject({ format: z.enum(['jsonl', 'markdown']).default('jsonl') })

export const memoryMediaTypes = { jsonl: 'application/x-ndjson', markdown: 'text/markdown' } as const

export const importQuerySchema = z.strictObject({
  /** The trust of imported memories. An export of the same user keeps its labels. */
  label: z.enum(['untrusted', 'owner']).default('untrusted'),
  /** `true`: also index the folders that the file names. */
  addFolders: z.enum(['true', 'false']).default('false'),
})
export const importReplySchema = z.object({
  /** `plain`: a list of notes that is not an export. */
  format: z.enum(['jsonl', 'markdown', 'plain']),
  /** It is an export of the same user. */
  isOwn: z.boolean(),
  /** False if it was stopped: the same file again completes it. */
  isFinished: z.boolean(),
  added: z.object({ memories: count, edges: count, names: count }),
  known: count,
  folders: z.object({ added: z.array(z.string()), left: z.array(z.string()) }),
  /** The number of skipped lines, and the first of them. */
  problems: z.object({ count, first: z.array(z.object({ line: count, message: z.string() })) }),
})
export type ImportReply = Wire<typeof importReplySchema>
export const importProgressSchema = z.object({ line: count, added: count })
export type ImportProgressReply = Wire<typeof importProgressSchema>

const troubleSchema = z.object({
  failures: count,
  passedOver: count,
  last: z.object({ at: time, sessionId: z.string(), reason: z.string(), passedOver: z.boolean() }),
})
export type TroubleReply = Wire<typeof troubleSchema>

export const memoryStatsReplySchema = z.object({
  /** Current ones, by kind. */
  memories: z.record(memoryKindSchema, count),
  /** Replaced by something newer. */
  superseded: count,
  aliases: count,
  edges: count,
  /** Changes that can still be undone. */
  changes: count,
  files: z.object({ roots: count, files: count, bytes: count }),
  /** Null without an embedding model: recall uses words only. */
  embedding: z
    .object({
      model: z.string(),
      embedded: count,
      total: count,
      isRunning: z.boolean(),
      problem: z.string().nullable(),
    })
    .nullable(),
  learning: z.object({
    /** Sessions that wait to be read. */
    waiting: count,
    extraction: troubleSchema.nullable(),
    consolidation: troubleSchema.nullable(),
  }),
  /** The size of the whole database. */
  databaseBytes: count,
})
export type MemoryStatsReply = Wire<typeof memoryStatsReplySchema>

const commitmentState = z.enum(['open', 'done', 'expired', 'cancelled'])

/** A day means its end. */
const deadline = dayOrTime

export const factReplySchema = z.object({
  id: z.string(),
  entity: z.string(),
  attribute: z.string(),
  value: z.string(),
  confidence: z.number(),
  validFrom: time,
  /** Null for a fact that is true now. */
  validTo: time.nullable(),
})
export type FactReply = Wire<typeof factReplySchema>

export const commitmentReplySchema = z.object({
  id: z.string(),
  /** The debtor: `user`, or a name. */
  who: z.string(),
  toWhom: z.string().nullable(),
  what: z.string(),
  deadline: time.nullable(),
  state: commitmentState,
  closedAt: time.nullable(),
  createdAt: time,
})
export type CommitmentReply = Wire<typeof commitmentReplySchema>

export const edgeReplySchema = z.object({
  sourceId: z.string(),
  targetId: z.string(),
  relation: z.string(),
  weight: z.number(),
})

export const factsQuerySchema = z.strictObject({
  entity: name.optional(),
  attribute: name.optional(),
  value: text.max(10_000).optional(),
  /** `true`: also earlier values. */
  history: flag,
  /** `true`: also count the different entities. */
  count: flag,
  limit: limit(5_000, 50),
})
export const factsReplySchema = z.object({
  facts: z.array(factReplySchema),
  /** The number of different entities that have it now; only with `count`. */
  entities: z.number().int().optional(),
})
export type FactsReply = Wire<typeof factsReplySchema>
export const factRequestSchema = z.strictObject({
  /** `user` for the user. */
  entity: name,
  attribute: name,
  value: text.max(10_000),
  confidence: share.optional(),
})
export type FactRequest = Wire<typeof factRequestSchema>
export const writtenFactReplySchema = z.object({
  outcome: z.enum(['added', 'confirmed', 'replaced']),
  fact: factReplySchema,
  /** The replaced fact. */
  old: factReplySchema.nullable(),
  /** The change to undo; null if nothing was replaced. */
  changeId: z.string().nullable(),
})
export type WrittenFactReply = Wire<typeof writtenFactReplySchema>

/** From now on this attribute can have several values. */
export const attributeRequestSchema = z.strictObject({ attribute: name, isMultiValued: z.literal(true) })
export const attributeReplySchema = z.object({ attribute: z.string(), isMultiValued: z.boolean() })

export const commitmentsQuerySchema = z.strictObject({
  state: commitmentState.optional(),
  who: name.optional(),
  toWhom: name.optional(),
  limit: limit(500, 50),
})
export const commitmentsReplySchema = z.object({ commitments: z.array(commitmentReplySchema) })
export type CommitmentsReply = Wire<typeof commitmentsReplySchema>
export const commitmentRequestSchema = z.strictObject({
  what: text.max(2_000),
  who: name.default('user'),
  toWhom: name.optional(),
  deadline: deadline.optional(),
})
export const addedCommitmentReplySchema = z.object({ commitment: commitmentReplySchema, isNew: z.boolean() })
export const commitmentEditRequestSchema = z
  .strictObject({ state: commitmentState.exclude(['expired']).optional(), deadline: deadline.nullable().optional() })
  .refine((edit) => Object.keys(edit).length > 0, 'needs "state" or "deadline"')
export type CommitmentEditRequest = Wire<typeof commitmentEditRequestSchema>

const aliasSchema = z.strictObject({ alias: name, entity: name })
export const aliasQuerySchema = aliasSchema
export const aliasRequestSchema = z.strictObject(aliasSchema.shape)
export const aliasesReplySchema = z.object({ aliases: z.array(z.object({ alias: z.string(), entity: z.string() })) })
export const addedAliasReplySchema = z.object({ alias: z.string(), entity: z.string(), isNew: z.boolean() })

export const removedReplySchema = z.object({ removed: z.literal(true) })

export const graphQuerySchema = z.strictObject({
  /** Separated by commas; default: the newest edges. */
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
      /** Steps from the start; null without a start. */
      distance: z.number().int().nullable(),
    }),
  ),
  edges: z.array(edgeReplySchema),
})
export type GraphReply = Wire<typeof graphReplySchema>
const edge = { sourceId: id, targetId: id, relation: text.max(100) }
export const edgeQuerySchema = z.strictObject(edge)
export const edgeRequestSchema = z.strictObject({ ...edge, weight: share.default(1) })

const tier = z.enum(['short_term', 'long_term'])
const source = z.enum(['user', 'agent', 'extracted', 'tool', 'import'])

export const filePlaceSchema = z.object({
  /** Relative to the added folder or the workspace. */
  path: z.string(),
  /** The absolute path. */
  file: z.string(),
  firstLine: z.number().int(),
  lastLine: z.number().int(),
})

export const memoryReplySchema = z.object({
  id: z.string(),
  kind: memoryKindSchema,
  content: z.string(),
  title: z.string().nullable(),
  category: z.string().nullable(),
  tags: z.array(z.string()),
  tier,
  /** As written. A search shows the current value as `strength`. */
  priority: z.number(),
  source,
  label: z.enum(['owner', 'internal', 'untrusted']),
  sessionId: z.string().nullable(),
  turnId: z.string().nullable(),
  speaker: z.string().nullable(),
  happenedFrom: time.nullable(),
  happenedUntil: time.nullable(),
  createdAt: time,
  updatedAt: time,
  usedAt: time,
  useCount: z.number().int(),
  /** Not null: history, replaced by something newer. */
  supersededAt: time.nullable(),
  supersededBy: z.string().nullable(),
  /** `notes/trip.md:12-18` or `memory:ID`. */
  citation: z.string(),
  file: filePlaceSchema.nullable(),
})
export type MemoryReply = Wire<typeof memoryReplySchema>

/** The filter of lists and searches. */
const filter = {
  kind: memoryKindSchema.optional(),
  tier: tier.optional(),
  source: source.optional(),
  tag: text.max(200).optional(),
  /** The time when it was stored. */
  from: dayOrTime.optional(),
  until: dayOrTime.optional(),
}

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
  nextCursor: z.string().nullable(),
})
export type MemoriesReply = Wire<typeof memoriesReplySchema>

const tags = z.array(text).max(16)

export const memoryRequestSchema = z.strictObject({
  content: text,
  title: z.string().max(200).optional(),
  category: z.string().max(64).optional(),
  tags: tags.default([]),
  tier: tier.optional(),
  priority: share.optional(),
})
export const addedMemoryReplySchema = z.object({
  memory: memoryReplySchema,
  /** False if the same memory was known. */
  isNew: z.boolean(),
})
export type AddedMemoryReply = Wire<typeof addedMemoryReplySchema>

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
export type MemoryEditRequest = Wire<typeof memoryEditRequestSchema>
export const editedMemoryReplySchema = z.object({ changeId: z.string(), memory: memoryReplySchema })

export const forgottenMemoryReplySchema = z.object({
  /** The change to undo, for 30 days. */
  changeId: z.string(),
  memory: memoryReplySchema,
  /** Its repetitions, forgotten with it. */
  alsoForgotten: z.array(memoryReplySchema),
})

export const episodeReplySchema = z.object({
  summary: z.string(),
  topics: z.array(z.string()),
  decisions: z.array(z.string()),
  tone: z.string().nullable(),
  startedAt: time,
  endedAt: time,
})

export const changeReplySchema = z.object({
  id: z.string(),
  memoryId: z.string(),
  action: z.enum(['edited', 'forgotten']),
  madeBy: z.enum(['user', 'agent']),
  at: time,
  undoUntil: time,
  /** The previous state. */
  before: memoryReplySchema,
})
export type ChangeReply = Wire<typeof changeReplySchema>

/** One memory with its details, edges and history. */
export const memoryDetailReplySchema = z.object({
  memory: memoryReplySchema,
  fact: factReplySchema.nullable(),
  episode: episodeReplySchema.nullable(),
  commitment: commitmentReplySchema.nullable(),
  edges: z.array(edgeReplySchema),
  decay: z.object({
    policy: z.enum(['time', 'cycles']),
    /** The current value of its priority. */
    strength: z.number(),
    /** Left out of recall. */
    isFaded: z.boolean(),
    /** From its last use into the future. Offsets are days from now, or cycles, by the policy. */
    points: z.array(z.object({ offset: z.number(), strength: z.number() })),
  }),
  /** The values of a fact, newest first, and the changes that can still be undone. */
  history: z.object({ facts: z.array(factReplySchema), changes: z.array(changeReplySchema) }),
})
export type MemoryDetailReply = Wire<typeof memoryDetailReplySchema>

export const memorySearchQuerySchema = z.strictObject({
  q: text,
  ...filter,
  limit: limit(100, 10),
  /** `true`: each result contains `why`. */
  explain: flag,
})
export const memorySearchReplySchema = z.object({
  results: z.array(
    z.object({
      rank: z.number().int(),
      /** Comparable only within one reply. */
      score: z.number(),
      memory: memoryReplySchema,
      /** The part of a long memory that matches the question. */
      passage: z.string().optional(),
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
          /** The current value of its priority. */
          strength: z.number(),
        })
        .optional(),
    }),
  ),
})
export type MemorySearchReply = Wire<typeof memorySearchReplySchema>

const style = z.enum(['structured', 'narrative', 'factual'])

export const deepRecallRequestSchema = z.strictObject({
  question: text.max(10_000),
  limit: z.number().int().min(1).max(50).default(10),
  style: style.default('structured'),
})
export const deepRecallReplySchema = z.object({
  summary: z.string(),
  /** The style of the summary. */
  style,
  /** The question itself is the first. */
  searches: z.array(z.string()),
  memories: z.array(
    z.object({
      memory: memoryReplySchema,
      relevance: z.number(),
      /** The relation followed in the graph; null for search results. */
      relation: z.string().nullable(),
    }),
  ),
  /** Why the result is incomplete. */
  notes: z.array(z.string()),
})

/** The progress of a deep recall. */
export const deepProgressSchema = z.discriminatedUnion('status', [
  z.object({ status: z.literal('expanding'), query: z.string() }),
  z.object({ status: z.literal('searching'), searches: z.array(z.string()) }),
  z.object({ status: z.literal('found'), count: z.number().int(), memories: z.array(z.string()) }),
])
export type DeepProgressReply = Wire<typeof deepProgressSchema>

export const changesQuerySchema = z.strictObject({ limit: limit(500, 50) })
export const changesReplySchema = z.object({ changes: z.array(changeReplySchema) })
/** Default: the newest. */
export const undoRequestSchema = z.strictObject({ change: id.optional() })
export const undoReplySchema = z.object({ change: changeReplySchema })

/** Permanent: there is no undo. */
export const forgetEverythingRequestSchema = z.strictObject({
  about: name,
  confirm: z.literal(true, { error: 'must be true: this cannot be undone' }),
})
export const forgotEverythingReplySchema = z.object({ memories: z.number().int(), events: z.number().int() })

export const memories = {
  list: operation('GET /api/v1/memories', 'List memories, newest first, in pages. Superseded memories are omitted.', {
    scope: 'read',
    query: memoriesQuerySchema,
    reply: memoriesReplySchema,
  }),
  add: operation('POST /api/v1/memories', 'Add a note. A duplicate is stored once.', {
    scope: 'owner',
    body: memoryRequestSchema,
    reply: addedMemoryReplySchema,
    status: 201,
  }),
  search: operation(
    'GET /api/v1/memories/search',
    'Search memories, best match first. With `explain=true`, each result says why it matched.',
    { scope: 'read', query: memorySearchQuerySchema, reply: memorySearchReplySchema },
  ),
  deep: operation(
    'POST /api/v1/memories/deep',
    'Search in several ways, follow relations and summarize the results. With `Accept: text/event-stream`, stream progress.',
    {
      // It changes nothing, but it calls a model, which costs money.
      scope: 'chat',
      body: deepRecallRequestSchema,
      reply: deepRecallReplySchema,
      progress: deepProgressSchema,
      events: true,
    },
  ),
  changes: operation('GET /api/v1/memories/changes', 'List changes that can still be undone, newest first.', {
    scope: 'read',
    query: changesQuerySchema,
    reply: changesReplySchema,
  }),
  undo: operation('POST /api/v1/memories/undo', 'Undo a change. Default: the newest one.', {
    scope: 'owner',
    body: undoRequestSchema,
    reply: undoReplySchema,
  }),
  forgetEverything: operation(
    'POST /api/v1/memories/forget-everything',
    'Permanently delete everything about a subject from memories and conversations.',
    { scope: 'owner', body: forgetEverythingRequestSchema, reply: forgotEverythingReplySchema },
  ),
  show: operation('GET /api/v1/memories/:id', 'Get a memory with its details, edges and history.', {
    scope: 'read',
    reply: memoryDetailReplySchema,
  }),
  edit: operation('PATCH /api/v1/memories/:id', 'Update a memory. The change can be undone for 30 days.', {
    scope: 'owner',
    body: memoryEditRequestSchema,
    reply: editedMemoryReplySchema,
  }),
  keep: operation(
    'POST /api/v1/memories/:id/keep',
    'Confirm a memory that Familiar learned, so that it becomes the user’s own and long-term.',
    { scope: 'owner', reply: editedMemoryReplySchema },
  ),
  forget: operation(
    'DELETE /api/v1/memories/:id',
    'Forget a memory and its duplicates, by id or exact title. This can be undone for 30 days.',
    { scope: 'owner', reply: forgottenMemoryReplySchema },
  ),
  export: operation(
    'GET /api/v1/memories/export',
    'Export all memories as JSON Lines (complete) or Markdown (readable).',
    { scope: 'read', query: exportQuerySchema, mediaTypes: Object.values(memoryMediaTypes) },
  ),
  importLines: operation(
    'POST /api/v1/memories/import',
    'Import an export or a list of notes. With `Accept: text/event-stream`, stream progress.',
    {
      scope: 'owner',
      query: importQuerySchema,
      rawBody: { mediaTypes: Object.values(memoryMediaTypes), isSpooled: true },
      reply: importReplySchema,
      progress: importProgressSchema,
      events: true,
    },
  ),
  stats: operation(
    'GET /api/v1/memories/stats',
    'Get the number of memories, the embedding progress and the errors of background work.',
    { scope: 'read', reply: memoryStatsReplySchema },
  ),
  consolidate: operation(
    'POST /api/v1/memories/consolidate',
    'Extract memories from one session, or from all sessions and files. With `Accept: text/event-stream`, stream progress.',
    {
      scope: 'owner',
      body: consolidateRequestSchema,
      reply: consolidatedReplySchema,
      progress: consolidateProgressSchema,
      events: true,
    },
  ),
}

export const facts = {
  list: operation(
    'GET /api/v1/memories/facts',
    'List facts by entity, attribute and value. With `history=true`, include earlier values.',
    { scope: 'read', query: factsQuerySchema, reply: factsReplySchema },
  ),
  state: operation(
    'POST /api/v1/memories/facts',
    'State a fact. A new value replaces the known one; the same value confirms it.',
    { scope: 'owner', body: factRequestSchema, reply: writtenFactReplySchema, status: 201 },
  ),
  declare: operation('POST /api/v1/memories/attributes', 'Declare that an attribute can have multiple values.', {
    scope: 'owner',
    body: attributeRequestSchema,
    reply: attributeReplySchema,
    status: 201,
  }),
}

export const commitments = {
  list: operation('GET /api/v1/memories/commitments', 'List commitments, open ones first, by deadline.', {
    scope: 'read',
    query: commitmentsQuerySchema,
    reply: commitmentsReplySchema,
  }),
  add: operation('POST /api/v1/memories/commitments', 'Add a commitment. A duplicate is stored once.', {
    scope: 'owner',
    body: commitmentRequestSchema,
    reply: addedCommitmentReplySchema,
    status: 201,
  }),
  edit: operation('PATCH /api/v1/memories/commitments/:id', 'Close or reopen a commitment, or change its deadline.', {
    scope: 'owner',
    body: commitmentEditRequestSchema,
    reply: commitmentReplySchema,
  }),
}

export const aliases = {
  list: operation('GET /api/v1/memories/aliases', 'List aliases.', { scope: 'read', reply: aliasesReplySchema }),
  add: operation('POST /api/v1/memories/aliases', 'Add another name for an entity.', {
    scope: 'owner',
    body: aliasRequestSchema,
    reply: addedAliasReplySchema,
    status: 201,
  }),
  remove: operation('DELETE /api/v1/memories/aliases', 'Remove an alias.', {
    scope: 'owner',
    query: aliasQuerySchema,
    reply: removedReplySchema,
  }),
}

export const graph = {
  show: operation(
    'GET /api/v1/memories/graph',
    'Get memories and their edges, around the given ids. Default: the newest edges.',
    { scope: 'read', query: graphQuerySchema, reply: graphReplySchema },
  ),
  link: operation('POST /api/v1/memories/edges', 'Link two memories. A duplicate edge keeps the higher weight.', {
    scope: 'owner',
    body: edgeRequestSchema,
    reply: edgeReplySchema,
    status: 201,
  }),
  unlink: operation('DELETE /api/v1/memories/edges', 'Remove an edge between two memories.', {
    scope: 'owner',
    query: edgeQuerySchema,
    reply: removedReplySchema,
  }),
}

export const roots = {
  list: operation('GET /api/v1/memories/roots', 'List indexed files and folders, with the result of the last sync.', {
    scope: 'read',
    reply: rootsReplySchema,
  }),
  add: operation('POST /api/v1/memories/roots', 'Add a file or folder to the index. The next sync reads it.', {
    scope: 'owner',
    // It names a path (SEC-4).
    isLocal: true,
    body: rootRequestSchema,
    reply: addedRootReplySchema,
    status: 201,
  }),
  remove: operation(
    'DELETE /api/v1/memories/roots',
    'Remove a file or folder from the index. The files do not change.',
    { scope: 'owner', query: rootQuerySchema, reply: removedReplySchema },
  ),
  sync: operation(
    'POST /api/v1/memories/sync',
    'Update the index from the disk. With `Accept: text/event-stream`, stream progress.',
    { scope: 'owner', reply: syncReplySchema, progress: syncProgressSchema, events: true },
  ),
}
