import { setImmediate } from 'node:timers/promises'
import type { MemoryEdgeRow } from '../../storage/tables.ts'
import { selectMemories } from '../memories.ts'
import { type Memory, type MemoryKind, memoryFromRow } from '../memory.ts'
import type { WrittenMemory, WrittenRecord } from './record.ts'
import { endOfDay, startOfDay, timeText } from './time-text.ts'
import { type Reading, readDetails, writtenMemory } from './written-memory.ts'

/**
 * Everything remembered, history included, oldest first. The passages of files are left out: they come from the files.
 */
export async function* readMemories(reading: Reading): AsyncGenerator<WrittenMemory> {
  let last: { created_at: number; id: string } | undefined
  for (;;) {
    let query = selectExported(reading)
    if (last) {
      const { created_at, id } = last
      query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('created_at', 'id'), '>', tuple(created_at, id)))
    }
    const rows = await query.orderBy('created_at').orderBy('id').limit(reading.rowsPerPage).execute()
    last = rows.at(-1)
    if (!last) return
    yield* writtenPage(reading, rows.map(memoryFromRow))
  }
}

/** Those of one kind, day by day and by their ids inside a day: an order that needs no more of the time than the day. */
export async function* readMemoriesByDay(reading: Reading, kind: MemoryKind): AsyncGenerator<WrittenMemory> {
  let from = Number.MIN_SAFE_INTEGER
  for (;;) {
    const next = await selectExported(reading)
      .where('kind', '=', kind)
      .where('created_at', '>=', from)
      .orderBy('created_at')
      .limit(1)
      .executeTakeFirst()
    if (!next) return
    yield* readDay(reading, kind, next.created_at)
    from = endOfDay(next.created_at)
  }
}

async function* readDay(reading: Reading, kind: MemoryKind, day: number): AsyncGenerator<WrittenMemory> {
  let last = ''
  for (;;) {
    const rows = await selectExported(reading)
      .where('kind', '=', kind)
      .where('created_at', '>=', startOfDay(day))
      .where('created_at', '<', endOfDay(day))
      .where('id', '>', last)
      .orderBy('id')
      .limit(reading.rowsPerPage)
      .execute()
    const end = rows.at(-1)
    if (!end) return
    last = end.id
    yield* writtenPage(reading, rows.map(memoryFromRow))
  }
}

export async function* readAliases({ database, userId }: Reading): AsyncGenerator<WrittenRecord> {
  const rows = await database.read
    .selectFrom('entity_aliases')
    .select(['alias', 'entity'])
    .where('user_id', '=', userId)
    .orderBy('alias_key')
    .orderBy('entity_key')
    .execute()
  for (const { alias, entity } of rows) yield { type: 'alias', alias, entity }
}

export async function* readAttributes({ database, userId }: Reading): AsyncGenerator<WrittenRecord> {
  const rows = await database.read
    .selectFrom('fact_attributes')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('attribute_key')
    .execute()
  for (const { attribute_key, is_multi_valued } of rows) {
    yield { type: 'attribute', attribute: attribute_key, is_multi_valued: is_multi_valued === 1 }
  }
}

/** Edges between memories that are exported themselves. */
export async function* readEdges(reading: Reading): AsyncGenerator<WrittenRecord> {
  const { database, userId, rowsPerPage } = reading
  let last: MemoryEdgeRow | undefined
  for (;;) {
    let query = database.read
      .selectFrom('memory_edges')
      .selectAll()
      .where('user_id', '=', userId)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('chunks')
              .select('chunks.id')
              .where((where) =>
                where.or([
                  where('chunks.id', '=', where.ref('memory_edges.source_id')),
                  where('chunks.id', '=', where.ref('memory_edges.target_id')),
                ]),
              ),
          ),
        ),
      )
    if (last) {
      const { source_id, target_id, relation } = last
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('source_id', 'target_id', 'relation'), '>', tuple(source_id, target_id, relation)),
      )
    }
    const rows = await query.orderBy('source_id').orderBy('target_id').orderBy('relation').limit(rowsPerPage).execute()
    last = rows.at(-1)
    if (!last) return
    for (const { source_id, target_id, relation, weight, created_at } of rows) {
      yield { type: 'edge', source_id, target_id, relation, weight, created_at: timeText(created_at) }
    }
    await setImmediate()
  }
}

function selectExported({ database, userId }: Reading) {
  return selectMemories(database.read, userId).where(({ not, exists, selectFrom }) =>
    not(exists(selectFrom('chunks').select('chunks.id').whereRef('chunks.id', '=', 'memories.id'))),
  )
}

async function* writtenPage(reading: Reading, memories: readonly Memory[]): AsyncGenerator<WrittenMemory> {
  const details = await readDetails(reading, memories)
  for (const memory of memories) yield writtenMemory(memory, details)
  await setImmediate()
}
