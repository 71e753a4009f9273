import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { factReplySchema } from '../protocol/memory.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { FactRow } from '../storage/tables.ts'
import { toQueryWords } from '../storage/words.ts'
import { factCollection, findMemory, type Memories } from './memories.ts'
import {
  isRow,
  isUsuallyMultiValued,
  type MemoryLabel,
  type MemorySource,
  type Origin,
  originOf,
  requireLine,
} from './memory.ts'
import { allNamesOf, distinctEntities, oneName, ownNamesOf } from './names.ts'
import { attributeKey, contentWords, entityKey, foldedWords, foldValue, valueKey, wordLists } from './words.ts'

/** One value of an attribute of an entity. */
export type Fact = z.infer<typeof factReplySchema> & { userId: string }

export interface NewFact extends Origin {
  userId: string
  /** `user` for the user. An alias is resolved to its entity. */
  entity: string
  attribute: string
  value: string
  confidence?: number | undefined
}

export type WrittenFact =
  | { outcome: 'added'; fact: Fact }
  /** The same value was known: its confidence is the higher of the two, and it counts as used. */
  | { outcome: 'confirmed'; fact: Fact }
  /** The old value is closed and superseded; both stay in history. `label` is the old one's. */
  | { outcome: 'replaced'; fact: Fact; old: Fact; label: MemoryLabel }
  /**
   * The known value has higher confidence, is the user's own, or is trusted while the new one is not: nothing changed;
   * ask the user. `fact` is the rejected one, with an empty id. `label` is the known one's.
   */
  | { outcome: 'refused'; fact: Fact; known: Fact; label: MemoryLabel }

/** Facts about entities. Each fact is a memory of the same id, whose content says it in words. */
export type Facts = ReturnType<typeof createFacts>

type FactWithSource = FactRow & { number: number; source: MemorySource; label: MemoryLabel }

const maxNameLength = 200
const maxValueLength = 10_000

export function createFacts(dependencies: { database: Database; clock: Clock; memories: Memories }) {
  const { database, clock, memories } = dependencies

  const facts = {
    write: (fact: NewFact): Promise<WrittenFact> => database.write((writer) => facts.writeIn(writer, fact)),

    async writeIn(writer: Writer, given: NewFact): Promise<WrittenFact> {
      const at = given.at ?? clock.now()
      const proposed = await proposeFact(writer, given, at)
      const known = await selectCurrent(writer, proposed)
      const same = known.find((row) => row.value_key === proposed.value_key)
      if (same) return await confirm(writer, same, given, proposed.confidence)
      if (known.length === 0 || (await isMultiValued(writer, proposed.user_id, proposed.attribute_key)))
        return await insert(writer, given, proposed)
      const surest = known.reduce((best, row) => (isSurer(row, best) ? row : best))
      // An earlier value is history, whatever its confidence: it closes nothing.
      if (at < surest.valid_from) return await insert(writer, given, { ...proposed, valid_to: surest.valid_from })
      if (!mayReplace(proposed.confidence, given, surest)) {
        return { outcome: 'refused', fact: factFromRow(proposed), known: factFromRow(surest), label: surest.label }
      }
      const added = await insert(writer, given, proposed)
      for (const row of known) await close(writer, row, { at: added.fact.validFrom, by: added.fact.id })
      return {
        outcome: 'replaced',
        fact: added.fact,
        old: { ...factFromRow(surest), validTo: at },
        label: surest.label,
      }
    },

    /** From `at` on it is history, with the notes that state it. Does nothing if it is unknown. */
    async endIn(writer: Writer, { at, ...fact }: EndedFact): Promise<void> {
      const over = await proposeFact(writer, { ...fact, source: 'extracted' }, at)
      for (const row of await selectCurrent(writer, over)) {
        if (row.value_key === over.value_key && row.valid_from <= at) await close(writer, row, { at, by: row.id })
      }
    },

    async get(userId: string, id: string): Promise<Fact | undefined> {
      const row = await database.read.selectFrom('facts').selectAll().where(isRow(userId, id)).executeTakeFirst()
      return row && factFromRow(row)
    },

    /** By any of the three, folded and resolved through aliases; only current facts unless `history`. Newest first. */
    async find(question: FactQuestion): Promise<Fact[]> {
      return (await findFacts(database, question)).map(factFromRow)
    },

    /** How many different entities have it: "how many people do I know who are marine biologists?" */
    count: (question: Omit<FactQuestion, 'limit' | 'history'>) => countEntities(database, question),

    /** From now on this attribute can have several values. */
    async declareMultiValued(userId: string, attribute: string): Promise<void> {
      const attribute_key = attributeKey(cleanAttribute(attribute))
      const row = { user_id: userId, attribute_key, is_multi_valued: 1 as const }
      await database.write(async (writer) => {
        await writer
          .insertInto('fact_attributes')
          .values(row)
          .onConflict((conflict) => conflict.columns(['user_id', 'attribute_key']).doUpdateSet({ is_multi_valued: 1 }))
          .execute()
      })
    },
  }
  return facts

  async function confirm(
    writer: Writer,
    known: FactWithSource,
    given: NewFact,
    confidence: number,
  ): Promise<WrittenFact> {
    const isLesser = given.label === 'untrusted' && known.label !== 'untrusted'
    const sure = isLesser ? known.confidence : Math.max(known.confidence, confidence)
    const its = isRow(known.user_id, known.id)
    await writer.updateTable('facts').set({ confidence: sure }).where(its).execute()
    await memories.usedIn(writer, known.user_id, [known.id])
    // From now on it is the user's own, which the agent does not change.
    if (given.source === 'user' && known.source !== 'user') {
      await writer.updateTable('memories').set({ source: 'user', label: 'owner' }).where(its).execute()
    }
    return { outcome: 'confirmed', fact: { ...factFromRow(known), confidence: sure } }
  }

  async function insert(
    writer: Writer,
    given: NewFact,
    proposed: FactRow,
  ): Promise<{ outcome: 'added' | 'confirmed'; fact: Fact }> {
    const { memory, isNew } = await memories.addIn(writer, {
      ...originOf(given),
      userId: given.userId,
      kind: 'fact',
      content: `${factBeginning(proposed)}${proposed.value}`,
      at: proposed.valid_from,
    })
    // Another entity and attribute can have the same text: "a: b is c is d". The existing one stands for both.
    if (!isNew) return { outcome: 'confirmed', fact: factFromRow({ ...proposed, id: memory.id }) }
    const row = { ...proposed, id: memory.id }
    await writer.insertInto('facts').values(row).execute()
    if (row.valid_to !== null) await memories.replaceIn(writer, { ...memory, supersededAt: row.valid_to })
    return { outcome: 'added', fact: factFromRow(row) }
  }

  async function close(writer: Writer, old: FactRow, { at, by }: { at: number; by: string }): Promise<void> {
    await writer.updateTable('facts').set({ valid_to: at }).where(isRow(old.user_id, old.id)).execute()
    await memories.supersedeIn(writer, { userId: old.user_id, id: old.id, by })
    await supersedeStatements(writer, memories, { old, by })
  }
}

type EndedFact = Pick<NewFact, 'userId' | 'entity' | 'attribute' | 'value'> & { at: number }

async function proposeFact(writer: Writer, given: NewFact, at: number): Promise<FactRow> {
  const named = requireLine(given.entity, { what: 'A fact’s entity', longest: maxNameLength })
  const attribute = cleanAttribute(given.attribute)
  const value = requireLine(given.value, { what: 'A fact’s value', longest: maxValueLength })
  const entity = await oneName(writer, given.userId, named)
  return {
    id: '',
    user_id: given.userId,
    entity,
    entity_key: entityKey(entity),
    attribute,
    attribute_key: attributeKey(attribute),
    value,
    value_key: valueKey(value),
    confidence: Math.min(1, Math.max(0, given.confidence ?? (given.source === 'user' ? 1 : 0.8))),
    valid_from: at,
    valid_to: null,
  }
}

function cleanAttribute(attribute: string): string {
  return requireLine(attribute, { what: 'A fact’s attribute', longest: maxNameLength })
}

/** The current facts of the same attribute of the same entity, under any of its names. */
export async function selectCurrent(
  writer: Writer,
  { user_id, entity, attribute }: Pick<FactRow, 'user_id' | 'entity' | 'attribute'>,
): Promise<FactWithSource[]> {
  const names = await ownNamesOf(writer, user_id, entity)
  return await writer
    .selectFrom('facts')
    .innerJoin('memories', 'memories.id', 'facts.id')
    .selectAll('facts')
    .select(['memories.number', 'memories.source', 'memories.label'])
    .where('facts.user_id', '=', user_id)
    .where('facts.entity_key', 'in', [...new Set([entityKey(entity), ...names.keys()])])
    .where('facts.attribute_key', '=', attributeKey(attribute))
    .where('facts.valid_to', 'is', null)
    .execute()
}

function isSurer(row: FactWithSource, than: FactWithSource): boolean {
  if (row.confidence !== than.confidence) return row.confidence > than.confidence
  if (row.source !== than.source && (row.source === 'user' || than.source === 'user')) return row.source === 'user'
  return row.valid_from > than.valid_from
}

function mayReplace(confidence: number, { source, label }: NewFact, known: FactWithSource): boolean {
  // Whatever confidence an untrusted source claims (SEC-15).
  if (label === 'untrusted' && known.label !== 'untrusted') return false
  if (known.source === 'user' && source !== 'user') return confidence > known.confidence
  return confidence >= known.confidence
}

export async function isMultiValued(writer: Writer, userId: string, key: string): Promise<boolean> {
  if (isUsuallyMultiValued(key)) return true
  const row = await writer
    .selectFrom('fact_attributes')
    .select('is_multi_valued')
    .where('user_id', '=', userId)
    .where('attribute_key', '=', key)
    .executeTakeFirst()
  return row?.is_multi_valued === 1
}

/** Attributes that read as a verb, with its form for the user and for others: "live in", "lives in". */
export const factVerbs = new Map(
  Object.entries(wordLists.factVerbs).map(([attribute, forms]) => [attributeKey(attribute), forms]),
)

/**
 * The text of a fact as a memory, without the value: `Anna: birthday is `, `Anna lives in `. Older versions wrote
 * `Anna: lives in is `; a content that begins so keeps it.
 */
export function factBeginning({ entity, attribute }: Pick<Fact, 'entity' | 'attribute'>, content = ''): string {
  const asNoun = `${entity}: ${attribute} is `
  const verb = factVerbs.get(attributeKey(attribute))?.[1]
  return verb === undefined || content.startsWith(asNoun) ? asNoun : `${entity} ${verb} `
}

const attributeOf = new Map(Object.entries(wordLists.factVerbs).map(([attribute, [, verb = '']]) => [verb, attribute]))
const verbs = [...attributeOf.keys()].toSorted((a, b) => b.length - a.length)
const withVerb = new RegExp(`^([^:]{1,${maxNameLength}}?) (${verbs.join('|')}) (.+)$`, 's')

/** Parses the text of a fact, of any version. */
export function readFact(text: string): Pick<Fact, 'entity' | 'attribute' | 'value'> | undefined {
  const [, subject, verb = '', object = ''] = withVerb.exec(text) ?? []
  if (subject !== undefined) return { entity: subject, attribute: attributeOf.get(verb) ?? verb, value: object }
  const colon = text.indexOf(': ')
  const being = text.indexOf(' is ', colon)
  if (colon <= 0 || being < 0) return undefined
  return { entity: text.slice(0, colon), attribute: text.slice(colon + 2, being), value: text.slice(being + 4) }
}

function factFromRow(row: FactRow): Fact {
  return {
    id: row.id,
    userId: row.user_id,
    entity: row.entity,
    attribute: row.attribute,
    value: row.value,
    confidence: row.confidence,
    validFrom: Number(row.valid_from),
    validTo: row.valid_to === null ? null : Number(row.valid_to),
  }
}

export interface FactQuestion {
  userId: string
  entity?: string | undefined
  attribute?: string | undefined
  value?: string | undefined
  history?: boolean | undefined
  limit?: number | undefined
}

const usualLimit = 50
const maxCandidates = 100_000
const idsAtOnce = 500
const maxNamesakes = 20

/**
 * Newest first. By entity with one query per name, so that each ends after `limit` rows of its index. By value if it is
 * exact, and by full text if it is part of a longer one.
 */
async function findFacts(database: Database, question: FactQuestion): Promise<FactRow[]> {
  const { userId, entity, attribute, value, history, limit = usualLimit } = question
  const entityKeys = entity === undefined ? undefined : await keysOf(database, userId, entity)
  let facts = database.read.selectFrom('facts').selectAll().where('user_id', '=', userId)
  if (!history) facts = facts.where('valid_to', 'is', null)
  if (attribute !== undefined) facts = facts.where('attribute_key', '=', attributeKey(attribute))
  const found: FactRow[] = []
  if (value === undefined) {
    const newest = facts.orderBy('valid_from', 'desc').orderBy('id', 'desc').limit(limit)
    for (const key of entityKeys ?? [undefined]) {
      found.push(...(await (key === undefined ? newest : newest.where('entity_key', '=', key)).execute()))
    }
  } else {
    found.push(...(await facts.where('value_key', '=', valueKey(value)).execute()))
    const words = toQueryWords(value)
    const ids = await database.textSearch.withAll({ collection: factCollection, userId, words, limit: maxCandidates })
    for (let start = 0; start < ids.length; start += idsAtOnce) {
      const rows = await facts.where('id', 'in', ids.slice(start, start + idsAtOnce)).execute()
      found.push(...rows.filter((row) => hasValue(row, value)))
    }
  }
  const own = found.filter((row) => entityKeys?.includes(row.entity_key) ?? true)
  return [...new Map(own.map((row) => [row.id, row])).values()].toSorted(newestFirst).slice(0, limit)
}

/** The number of different entities, each once whatever its names. */
async function countEntities(database: Database, question: FactQuestion): Promise<number> {
  const { userId, entity, attribute, value } = question
  const keys = new Set<string>()
  if (entity === undefined && value === undefined) {
    const query = database.read.selectFrom('facts').select('entity_key').where('user_id', '=', userId)
    // With an attribute, `distinct` would make SQLite scan all entities instead of those that have it.
    const rows = attribute === undefined ? query.distinct() : query.where('attribute_key', '=', attributeKey(attribute))
    for (const row of await rows.where('valid_to', 'is', null).execute()) keys.add(row.entity_key)
  } else {
    const rows = await findFacts(database, { ...question, limit: Number.MAX_SAFE_INTEGER })
    for (const row of rows) keys.add(row.entity_key)
  }
  return (await distinctEntities(database.read, userId, [...keys])).size
}

/** All names of the entity, and others of that name: `Anna (colleague)` is an Anna too. */
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
    .limit(maxNamesakes)
    .execute()
  return [...new Set([...names.keys(), ...namesakes.map((row) => row.entity_key)])]
}

/** "a marine biologist at NOAA" has the value "marine biologists": it contains every word of it. */
function hasValue(row: FactRow, value: string): boolean {
  if (row.value_key === valueKey(value)) return true
  const wanted = foldedWords(foldValue(value))
  const there = new Set(foldedWords(row.value))
  return wanted.length > 0 && wanted.every((word) => there.has(word))
}

function newestFirst(a: FactRow, b: FactRow): number {
  return b.valid_from - a.valid_from || (a.id < b.id ? 1 : -1)
}

/** "I live at", "my new": words around a value that add nothing to the fact. */
const maxOtherWords = 1

/**
 * Supersedes notes or lines of the same turn that only state an outdated fact: otherwise they would still be found as
 * true.
 */
async function supersedeStatements(
  writer: Writer,
  memories: Memories,
  { old, by }: { old: FactRow; by: string },
): Promise<void> {
  const { turnId } = (await findMemory(writer, old.user_id, old.id)) ?? {}
  if (!turnId) return
  const sameTurn = await writer
    .selectFrom('memories')
    .select(['id', 'content'])
    .where('user_id', '=', old.user_id)
    .where('turn_id', '=', turnId)
    .where('kind', 'in', ['note', 'chunk'])
    .where('superseded_at', 'is', null)
    .execute()
  const factWords = new Set(foldedWords(`${old.entity} ${old.attribute} ${old.value}`))
  const valueWords = foldedWords(old.value)
  for (const { id, content } of sameTurn) {
    const words = new Set(contentWords(content, 64).flatMap(foldedWords))
    const others = [...words].filter((word) => !factWords.has(word))
    const isTheFact = valueWords.some((word) => words.has(word)) && others.length <= maxOtherWords
    if (isTheFact) await memories.supersedeIn(writer, { userId: old.user_id, id, by })
  }
}
