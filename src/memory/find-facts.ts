import type { Database } from '../storage/database.ts'
import { toQueryWords } from '../storage/query-words.ts'
import type { FactRow } from '../storage/tables.ts'
import { attributeKey, entityKey, foldedWords, foldValue, valueKey } from './fold-text.ts'
import { factCollection } from './memories.ts'
import { allNamesOf, distinctEntities } from './resolve-names.ts'

export interface FactQuestion {
  userId: string
  entity?: string | undefined
  attribute?: string | undefined
  value?: string | undefined
  history?: boolean | undefined
  limit?: number | undefined
}

const usualLimit = 50
const mostCandidates = 100_000
const idsAtOnce = 500
const mostNamesakes = 20

/** Newest first. */
export async function findFacts(database: Database, question: FactQuestion): Promise<FactRow[]> {
  const { userId, entity, value, limit = usualLimit } = question
  const entityKeys = entity === undefined ? undefined : await keysOf(database, userId, entity)
  const rows =
    value === undefined
      ? await selectByEntity(database, question, { entityKeys, limit })
      : await selectByValue(database, question, { entityKeys, value })
  return rows.toSorted(newestFirst).slice(0, limit)
}

/** How many different entities there are for it, those of several names once. */
export async function countEntities(database: Database, question: FactQuestion): Promise<number> {
  const { userId, entity, attribute, value } = question
  const keys = new Set<string>()
  if (entity === undefined && value === undefined) {
    const query = database.read.selectFrom('facts').select('entity_key').where('user_id', '=', userId)
    // With an attribute, `distinct` would make SQLite walk all entities instead of those that have it.
    const rows = attribute === undefined ? query.distinct() : query.where('attribute_key', '=', attributeKey(attribute))
    for (const row of await rows.where('valid_to', 'is', null).execute()) keys.add(row.entity_key)
  } else {
    const rows = await findFacts(database, { ...question, limit: Number.MAX_SAFE_INTEGER })
    for (const row of rows) keys.add(row.entity_key)
  }
  return (await distinctEntities(database.read, userId, [...keys])).size
}

/** All names of whoever is called so, and the others of that name: `Anna (colleague)` is an Anna too. */
async function keysOf(database: Database, userId: string, entity: string): Promise<string[]> {
  const names = await allNamesOf(database.read, userId, entity)
  const key = entityKey(entity)
  const namesakes = await database.read
    .selectFrom('facts')
    .select('entity_key')
    .distinct()
    .where('user_id', '=', userId)
    .where('entity_key', '>=', `${key} (`)
    .where('entity_key', '<', `${key} )`)
    .limit(mostNamesakes)
    .execute()
  return [...new Set([...names.keys(), ...namesakes.map((row) => row.entity_key)])]
}

function selectFacts(database: Database, { userId, attribute, history }: FactQuestion) {
  let query = database.read.selectFrom('facts').selectAll().where('user_id', '=', userId)
  if (!history) query = query.where('valid_to', 'is', null)
  if (attribute !== undefined) query = query.where('attribute_key', '=', attributeKey(attribute))
  return query
}

/** One question per name: so each ends after `limit` rows of its index. */
async function selectByEntity(
  database: Database,
  question: FactQuestion,
  { entityKeys = [undefined], limit }: { entityKeys: readonly (string | undefined)[] | undefined; limit: number },
): Promise<FactRow[]> {
  const rows: FactRow[] = []
  for (const key of entityKeys) {
    let query = selectFacts(database, question).orderBy('valid_from', 'desc').orderBy('id', 'desc').limit(limit)
    if (key !== undefined) query = query.where('entity_key', '=', key)
    rows.push(...(await query.execute()))
  }
  return rows
}

/** By exact value, and by full text where the value is part of a longer one. */
async function selectByValue(
  database: Database,
  question: FactQuestion,
  { entityKeys, value }: { entityKeys: readonly string[] | undefined; value: string },
): Promise<FactRow[]> {
  const { userId } = question
  const rows = new Map<string, FactRow>()
  const keep = (found: readonly FactRow[]) => {
    for (const row of found) {
      if (hasValue(row, value) && (entityKeys?.includes(row.entity_key) ?? true)) rows.set(row.id, row)
    }
  }
  keep(await selectFacts(database, question).where('value_key', '=', valueKey(value)).execute())
  const words = toQueryWords(value)
  const ids = await database.textSearch.withAll({ collection: factCollection, userId, words, limit: mostCandidates })
  for (let start = 0; start < ids.length; start += idsAtOnce) {
    const some = ids.slice(start, start + idsAtOnce)
    keep(await selectFacts(database, question).where('id', 'in', some).execute())
  }
  return [...rows.values()]
}

/** "marine biologists" is had by "a marine biologist at NOAA": every word of it is there. */
function hasValue(row: FactRow, value: string): boolean {
  if (row.value_key === valueKey(value)) return true
  const wanted = foldedWords(foldValue(value))
  const there = new Set(foldedWords(row.value))
  return wanted.length > 0 && wanted.every((word) => there.has(word))
}

function newestFirst(a: FactRow, b: FactRow): number {
  return b.valid_from - a.valid_from || (a.id < b.id ? 1 : -1)
}
