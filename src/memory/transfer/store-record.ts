import { sha256 } from '../../base/ids.ts'
import { camelKeys } from '../../base/json.ts'
import type { Writer } from '../../storage/database.ts'
import type { FactRow, Tables } from '../../storage/tables.ts'
import { isMultiValued, selectCurrent } from '../facts.ts'
import { buildMemory, type Memories, selectMemories } from '../memories.ts'
import { contentHash, isRow, type MemoryLabel, type MemorySource, type UnstoredMemory } from '../memory.ts'
import { attributeKey, entityKey, valueKey, whatKey } from '../words.ts'
import type { EdgeRecord, MemoryRecord, TransferRecord } from './record.ts'

export interface Storing {
  memories: Memories
  userId: string
  /** The file was exported for this user: its sources, labels and conversations are valid. */
  isOwn: boolean
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

/** Undefined for an edge, if one of its ends is not this user's. */
export async function storeRecord(
  writer: Writer,
  storing: Storing,
  record: Exclude<TransferRecord, { type: 'folder' }>,
): Promise<StoredRecord | undefined> {
  const { userId } = storing
  switch (record.type) {
    case 'memory':
      return await storeMemory(writer, storing, record)
    case 'edge':
      return await storeEdge(writer, storing, record)
    case 'alias': {
      const { alias, entity } = record
      const keys = { alias_key: entityKey(alias), entity_key: entityKey(entity) }
      if (keys.alias_key === keys.entity_key) return 'known'
      return await insert(writer, 'entity_aliases', { user_id: userId, alias, entity, ...keys })
    }
    case 'attribute': {
      const is_multi_valued = record.is_multi_valued ? 1 : 0
      const attribute_key = attributeKey(record.attribute)
      return await insert(writer, 'fact_attributes', { user_id: userId, attribute_key, is_multi_valued })
    }
  }
}

/** Nothing that exists is changed. */
async function insert<Table extends 'memory_edges' | 'entity_aliases' | 'fact_attributes'>(
  writer: Writer,
  table: Table,
  row: Tables[Table],
): Promise<StoredRecord> {
  const added = await writer
    .insertInto(table)
    .values(row as never)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return Number(added.numInsertedOrUpdatedRows) > 0 ? 'added' : 'known'
}

/**
 * Adds a memory under its id. Nothing that exists is changed: the same id or content counts as known, and an id of
 * another user is replaced by one derived from it, the same at the next import.
 */
async function storeMemory(writer: Writer, storing: Storing, record: MemoryRecord): Promise<StoredRecord> {
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

async function findSame(writer: Writer, storing: Storing, memory: UnstoredMemory): Promise<string | undefined> {
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

function memoryOf(storing: Storing, record: MemoryRecord, id: string): UnstoredMemory {
  const { userId, isOwn, label, cycleOffset } = storing
  const imported = { source: 'import', label, sessionId: null, turnId: null } as const
  const cycle = record.cycle + cycleOffset
  return buildMemory({ ...camelKeys(record), id, userId, cycle, ...(isOwn ? {} : imported) })
}

async function storeDetails(writer: Writer, { id, userId }: UnstoredMemory, record: MemoryRecord): Promise<void> {
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

async function storeEdge(
  writer: Writer,
  { userId, newIds }: Storing,
  edge: EdgeRecord,
): Promise<StoredRecord | undefined> {
  const source_id = newIds.get(edge.source_id) ?? edge.source_id
  const target_id = newIds.get(edge.target_id) ?? edge.target_id
  const ends = await selectMemories(writer, userId).where('id', 'in', [source_id, target_id]).execute()
  if (ends.length !== 2) return undefined
  const { relation, weight, created_at } = edge
  return await insert(writer, 'memory_edges', { user_id: userId, source_id, target_id, relation, weight, created_at })
}

type FactDetails = NonNullable<MemoryRecord['fact']>

/**
 * The state of an imported fact beside existing ones: also true, a successor, or history. The same rules as for a new
 * fact: the later one counts, unless the earlier has higher confidence or is the user's own.
 */
async function settleFact(
  writer: Writer,
  { memories, userId, newestBefore, now }: Storing,
  memory: UnstoredMemory,
  fact: FactDetails,
): Promise<{ memory: UnstoredMemory; fact: FactDetails } | { sameAs: string }> {
  if (fact.valid_to !== undefined || memory.supersededAt !== null) return { memory, fact }
  const current = await selectCurrent(writer, { user_id: userId, ...fact })
  const rivals = current.filter((rival) => rival.number <= newestBefore)
  const same = rivals.find((rival) => rival.value_key === valueKey(fact.value))
  if (same) return { sameAs: same.id }
  if (rivals.length === 0 || (await isMultiValued(writer, userId, attributeKey(fact.attribute))))
    return { memory, fact }
  const stronger = rivals.find((rival) => !gives(rival, fact, memory.source))
  if (stronger) {
    const valid_to = Math.max(fact.valid_from, stronger.valid_from)
    return { memory: { ...memory, supersededAt: now, supersededBy: stronger.id }, fact: { ...fact, valid_to } }
  }
  for (const { id } of rivals) {
    await writer.updateTable('facts').set({ valid_to: fact.valid_from }).where(isRow(userId, id)).execute()
    await memories.supersedeIn(writer, { userId, id, by: memory.id })
  }
  return { memory, fact }
}

function gives(
  rival: Pick<FactRow, 'valid_from' | 'confidence'> & { source: MemorySource },
  fact: FactDetails,
  source: MemorySource,
): boolean {
  const isUsersOwn = rival.source === 'user' && source !== 'user'
  return fact.valid_from > rival.valid_from && fact.confidence >= rival.confidence && !isUsersOwn
}
