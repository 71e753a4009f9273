import { sha256 } from '../../base/hash.ts'
import type { Writer } from '../../storage/database.ts'
import { attributeKey, entityKey, valueKey, whatKey } from '../fold-text.ts'
import { type Memories, selectMemories, usualPriority } from '../memories.ts'
import { contentHash, type Memory, type MemoryLabel } from '../memory.ts'
import { cleanCategory, cleanTags, cleanTitle } from '../memory-content.ts'
import { usualLabel } from './markdown-text.ts'
import type { EdgeRecord, MemoryRecord } from './record.ts'
import { settleFact } from './settle-fact.ts'

/** What is the same for all records of one import. */
export interface Storing {
  memories: Memories
  userId: string
  /** The file was exported for this same user: what it says of sources, labels and conversations holds. */
  isOwn: boolean
  /** For what others wrote. */
  label: MemoryLabel
  /** What a memory's cycle is moved by, so that it stays as long ago as it was. */
  cycleOffset: number
  /** The newest memory before the import: what the file holds twice is kept twice. */
  newestBefore: number
  /** The ids that could not be kept. */
  newIds: Map<string, string>
  now: number
}

export type StoredRecord = 'added' | 'known'

/**
 * Adds a memory under its id. Nothing that is there is changed: the same id or the same content is known already, and an
 * id of somebody else's gives way to one that is derived from it, the same at the next import.
 */
export async function storeMemory(writer: Writer, storing: Storing, record: MemoryRecord): Promise<StoredRecord> {
  const { userId, newIds } = storing
  // What the unit found out before it had to run again need not hold any more.
  newIds.delete(record.id)
  const id = await idFor(writer, userId, record.id)
  if (id.isKnown) {
    if (id.id !== record.id) newIds.set(record.id, id.id)
    return 'known'
  }
  const memory = memoryOf(storing, record, id.id)
  const same = await findSame(writer, storing, memory)
  if (same !== undefined) {
    newIds.set(record.id, same)
    return 'known'
  }
  const fact = record.kind === 'fact' ? record.fact : undefined
  const settled = fact ? await settleFact(writer, storing, memory, fact) : { memory, fact }
  if ('sameAs' in settled) {
    newIds.set(record.id, settled.sameAs)
    return 'known'
  }
  if (id.id !== record.id) newIds.set(record.id, id.id)
  await storing.memories.insertIn(writer, settled.memory)
  await storeDetails(writer, settled.memory, { ...record, fact: settled.fact })
  return 'added'
}

async function idFor(writer: Writer, userId: string, wanted: string): Promise<{ id: string; isKnown: boolean }> {
  const derived = sha256(JSON.stringify(['imported', userId, wanted])).slice(0, 32)
  const rows = await writer
    .selectFrom('memories')
    .select(['id', 'user_id'])
    .where('id', 'in', [wanted, derived])
    .execute()
  const own = rows.find((row) => row.user_id === userId)
  if (own) return { id: own.id, isKnown: true }
  return { id: rows.some((row) => row.id === wanted) ? derived : wanted, isKnown: false }
}

async function findSame(writer: Writer, storing: Storing, memory: Omit<Memory, 'number'>): Promise<string | undefined> {
  // History repeats itself, and so do conversations.
  if (memory.kind === 'chunk' || memory.supersededAt !== null) return undefined
  const row = await selectMemories(writer, storing.userId)
    .where('content_hash', '=', contentHash(memory.content))
    .where('kind', '=', memory.kind)
    .where('superseded_at', 'is', null)
    .where('number', '<=', storing.newestBefore)
    .executeTakeFirst()
  return row?.id
}

function memoryOf(storing: Storing, record: MemoryRecord, id: string): Omit<Memory, 'number'> {
  const { isOwn } = storing
  return {
    id,
    userId: storing.userId,
    kind: record.kind,
    content: record.content,
    title: cleanTitle(record.title),
    category: cleanCategory(record.category),
    tags: cleanTags(record.tags),
    tier: record.tier,
    priority: record.priority ?? usualPriority[record.tier],
    source: isOwn ? record.source : 'import',
    label: isOwn ? (record.label ?? usualLabel(record.source)) : storing.label,
    sessionId: (isOwn && record.session_id) || null,
    turnId: (isOwn && record.turn_id) || null,
    threadId: record.thread_id ?? null,
    position: record.position ?? null,
    passages: record.passages ?? 1,
    speaker: record.speaker ?? null,
    happenedFrom: record.happened_from ?? null,
    happenedUntil: record.happened_until ?? null,
    createdAt: record.created_at,
    updatedAt: record.updated_at ?? record.created_at,
    usedAt: record.used_at ?? record.created_at,
    useCount: record.use_count,
    cycle: record.cycle + storing.cycleOffset,
    supersededAt: record.superseded_at ?? null,
    supersededBy: record.superseded_by ?? null,
  }
}

async function storeDetails(
  writer: Writer,
  { id, userId }: Omit<Memory, 'number'>,
  record: MemoryRecord,
): Promise<void> {
  const mine = { id, user_id: userId }
  const { kind, fact, episode, commitment } = record
  if (kind === 'fact' && fact) {
    const { entity, attribute, value, confidence, valid_from, valid_to = null } = fact
    const keys = { entity_key: entityKey(entity), attribute_key: attributeKey(attribute), value_key: valueKey(value) }
    const row = { ...mine, entity, attribute, value, ...keys, confidence, valid_from, valid_to }
    await writer.insertInto('facts').values(row).execute()
  }
  if (kind === 'episode' && episode) {
    const { topics, decisions, tone = null, started_at, ended_at } = episode
    const lists = { topics: JSON.stringify(topics), decisions: JSON.stringify(decisions) }
    await writer
      .insertInto('episodes')
      .values({ ...mine, ...lists, tone, started_at, ended_at })
      .execute()
  }
  if (kind === 'commitment' && commitment) {
    const { who, to_whom = null, what, deadline = null, state, closed_at = null } = commitment
    const to_whom_key = to_whom === null ? null : entityKey(to_whom)
    const keys = { who_key: entityKey(who), to_whom_key, what_key: whatKey(what) }
    await writer
      .insertInto('commitments')
      .values({ ...mine, who, to_whom, what, ...keys, deadline, state, closed_at })
      .execute()
  }
}

/** Undefined where one of its ends is not this user's. */
export async function storeEdge(
  writer: Writer,
  { userId, newIds }: Storing,
  edge: EdgeRecord,
): Promise<StoredRecord | undefined> {
  const source_id = newIds.get(edge.source_id) ?? edge.source_id
  const target_id = newIds.get(edge.target_id) ?? edge.target_id
  const ends = await selectMemories(writer, userId).where('id', 'in', [source_id, target_id]).execute()
  if (ends.length !== 2) return undefined
  const { relation, weight, created_at } = edge
  const added = await writer
    .insertInto('memory_edges')
    .values({ user_id: userId, source_id, target_id, relation, weight, created_at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return Number(added.numInsertedOrUpdatedRows) > 0 ? 'added' : 'known'
}

export async function storeAlias(
  writer: Writer,
  { userId }: Storing,
  { alias, entity }: { alias: string; entity: string },
): Promise<StoredRecord> {
  const keys = { alias_key: entityKey(alias), entity_key: entityKey(entity) }
  if (keys.alias_key === keys.entity_key) return 'known'
  const added = await writer
    .insertInto('entity_aliases')
    .values({ user_id: userId, alias, entity, ...keys })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return Number(added.numInsertedOrUpdatedRows) > 0 ? 'added' : 'known'
}

export async function storeAttribute(
  writer: Writer,
  { userId }: Storing,
  { attribute, is_multi_valued }: { attribute: string; is_multi_valued: boolean },
): Promise<StoredRecord> {
  const row = { attribute_key: attributeKey(attribute), is_multi_valued: is_multi_valued ? (1 as const) : (0 as const) }
  const added = await writer
    .insertInto('fact_attributes')
    .values({ user_id: userId, ...row })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return Number(added.numInsertedOrUpdatedRows) > 0 ? 'added' : 'known'
}
