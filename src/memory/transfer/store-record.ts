import { sha256 } from '../../base/ids.ts'
import type { Writer } from '../../storage/database.ts'
import { type Memories, selectMemories, usualPriority } from '../memories.ts'
import {
  cleanCategory,
  cleanTags,
  cleanTitle,
  contentHash,
  isUsuallyMultiValued,
  type Memory,
  type MemoryLabel,
  type MemorySource,
} from '../memory.ts'
import { ownNamesOf } from '../names.ts'
import { attributeKey, entityKey, valueKey, whatKey } from '../words.ts'
import { importedLabel } from './markdown.ts'
import type { EdgeRecord, MemoryRecord } from './record.ts'

/** The same for all records of one import. */
export interface Storing {
  memories: Memories
  userId: string
  /** The file was exported for this user: its sources, labels and conversations are valid. */
  isOwn: boolean
  /** For other sources. */
  label: MemoryLabel
  /** Added to a memory's cycle, so that its age is preserved. */
  cycleOffset: number
  /** The newest memory before the import: duplicates within the file are kept. */
  newestBefore: number
  /** The ids that could not be kept. */
  newIds: Map<string, string>
  now: number
}

export type StoredRecord = 'added' | 'known'

/**
 * Adds a memory under its id. Nothing that exists is changed: the same id or content counts as known, and an id of
 * another user is replaced by one derived from it, the same at the next import.
 */
export async function storeMemory(writer: Writer, storing: Storing, record: MemoryRecord): Promise<StoredRecord> {
  const { userId, newIds } = storing
  // Results of an earlier attempt of the unit need not be valid any more.
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
  // History and conversations may repeat.
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
    label: isOwn ? (record.label ?? importedLabel(record.source)) : storing.label,
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

/** Undefined if one of its ends is not this user's. */
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

type FactDetails = NonNullable<MemoryRecord['fact']>
type NewMemoryRow = Omit<Memory, 'number'>

interface Rival {
  id: string
  value_key: string
  confidence: number
  valid_from: number
  source: MemorySource
}

/**
 * The state of an imported fact beside existing ones: also true, a successor, or history. The same rules as for a new
 * fact: the later one counts, unless the earlier has higher confidence or is the user's own.
 */
async function settleFact(
  writer: Writer,
  storing: { memories: Memories; userId: string; newestBefore: number; now: number },
  memory: NewMemoryRow,
  fact: FactDetails,
): Promise<{ memory: NewMemoryRow; fact: FactDetails } | { sameAs: string }> {
  if (fact.valid_to !== undefined || memory.supersededAt !== null) return { memory, fact }
  const rivals = await rivalsOf(writer, storing, fact)
  const same = rivals.find((rival) => rival.value_key === valueKey(fact.value))
  if (same) return { sameAs: same.id }
  if (rivals.length === 0 || (await isMultiValued(writer, storing.userId, fact))) return { memory, fact }
  const stronger = rivals.find((rival) => !gives(rival, fact, memory.source))
  if (stronger) {
    const valid_to = Math.max(fact.valid_from, stronger.valid_from)
    return {
      memory: { ...memory, supersededAt: storing.now, supersededBy: stronger.id },
      fact: { ...fact, valid_to },
    }
  }
  for (const { id } of rivals) {
    await writer
      .updateTable('facts')
      .set({ valid_to: fact.valid_from })
      .where('user_id', '=', storing.userId)
      .where('id', '=', id)
      .execute()
    await storing.memories.supersedeIn(writer, { userId: storing.userId, id, by: memory.id })
  }
  return { memory, fact }
}

function gives(rival: Rival, fact: FactDetails, source: MemorySource): boolean {
  const isUsersOwn = rival.source === 'user' && source !== 'user'
  return fact.valid_from > rival.valid_from && fact.confidence >= rival.confidence && !isUsersOwn
}

/** The facts of the same attribute before the import. */
async function rivalsOf(
  writer: Writer,
  { userId, newestBefore }: { userId: string; newestBefore: number },
  { entity, attribute }: FactDetails,
): Promise<Rival[]> {
  const names = await ownNamesOf(writer, userId, entity)
  return await writer
    .selectFrom('facts')
    .innerJoin('memories', 'memories.id', 'facts.id')
    .select(['facts.id', 'facts.value_key', 'facts.confidence', 'facts.valid_from', 'memories.source'])
    .where('facts.user_id', '=', userId)
    .where('facts.entity_key', 'in', [...new Set([entityKey(entity), ...names.keys()])])
    .where('facts.attribute_key', '=', attributeKey(attribute))
    .where('facts.valid_to', 'is', null)
    .where('memories.number', '<=', newestBefore)
    .execute()
}

async function isMultiValued(writer: Writer, userId: string, { attribute }: FactDetails): Promise<boolean> {
  const key = attributeKey(attribute)
  if (isUsuallyMultiValued(key)) return true
  const row = await writer
    .selectFrom('fact_attributes')
    .select('is_multi_valued')
    .where('user_id', '=', userId)
    .where('attribute_key', '=', key)
    .executeTakeFirst()
  return row?.is_multi_valued === 1
}
