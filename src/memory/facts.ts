import type { Clock } from '../base/clock.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { FactRow } from '../storage/tables.ts'
import { requireLine } from './clean-line.ts'
import { countEntities, type FactQuestion, findFacts } from './find-facts.ts'
import { attributeKey, entityKey, valueKey } from './fold-text.ts'
import type { Memories } from './memories.ts'
import type { MemoryLabel, MemorySource } from './memory.ts'
import { isUsuallyMultiValued } from './multi-valued.ts'
import { ownNamesOf, resolveNames } from './resolve-names.ts'
import { supersedeStatements } from './supersede-statements.ts'

export interface Fact {
  id: string
  userId: string
  entity: string
  attribute: string
  value: string
  /** 0 to 1. */
  confidence: number
  validFrom: number
  /** Null for what is true now. */
  validTo: number | null
}

export interface NewFact {
  userId: string
  /** `user` for the user themself. An alias is resolved to the name that it stands for. */
  entity: string
  attribute: string
  value: string
  confidence?: number | undefined
  source: MemorySource
  label?: MemoryLabel | undefined
  sessionId?: string | undefined
  turnId?: string | undefined
  /** When it became true: now, where nothing is said. */
  at?: number | undefined
}

export type WrittenFact =
  | { outcome: 'added'; fact: Fact }
  /** The same value was known: its confidence is the higher of the two, and it counts as used. */
  | { outcome: 'confirmed'; fact: Fact }
  /** The old value is closed and superseded; both stay in history. `label` is the old one's. */
  | { outcome: 'replaced'; fact: Fact; old: Fact; label: MemoryLabel }
  /**
   * The known value is surer than the new one, the user's own against the agent's, or trusted against one that is not:
   * nothing changed; ask the user. `fact` is what was to be written; its id is empty. `label` is the known one's.
   */
  | { outcome: 'refused'; fact: Fact; known: Fact; label: MemoryLabel }

/** What is true of whom. Each fact is a memory of the same id, whose content reads `entity: attribute is value`. */
export interface Facts {
  write(fact: NewFact): Promise<WrittenFact>
  writeIn(writer: Writer, fact: NewFact): Promise<WrittenFact>
  get(userId: string, id: string): Promise<Fact | undefined>
  /** Any of the three, folded and resolved through aliases; only what is true now unless `history`. Newest first. */
  find(question: FactQuestion): Promise<Fact[]>
  /** How many different entities have it: "how many people do I know who are marine biologists?" */
  count(question: Omit<FactQuestion, 'limit' | 'history'>): Promise<number>
  /** From now on a new value of this attribute stands beside the others. */
  declareMultiValued(userId: string, attribute: string): Promise<void>
}

type FactWithSource = FactRow & { source: MemorySource; label: MemoryLabel }

const longestName = 200
const longestValue = 10_000

export function createFacts(dependencies: { database: Database; clock: Clock; memories: Memories }): Facts {
  const { database, clock, memories } = dependencies

  const facts: Facts = {
    write: (fact) => database.write((writer) => facts.writeIn(writer, fact)),

    async writeIn(writer, given) {
      const at = given.at ?? clock.now()
      const proposed = await proposeFact(writer, given, at)
      const known = await selectCurrent(writer, proposed)
      const same = known.find((row) => row.value_key === proposed.value_key)
      if (same) return await confirm(writer, same, given, proposed.confidence)
      if (known.length === 0 || (await isMultiValued(writer, proposed))) return await insert(writer, given, proposed)
      const surest = known.reduce((best, row) => (isSurer(row, best) ? row : best))
      // What was true before is history, however sure: it closes nothing.
      if (at < surest.valid_from) return await insert(writer, given, { ...proposed, valid_to: surest.valid_from })
      if (!mayReplace(proposed.confidence, given, surest)) {
        return { outcome: 'refused', fact: factFromRow(proposed), known: factFromRow(surest), label: surest.label }
      }
      const added = await insert(writer, given, proposed)
      for (const row of known) await close(writer, row, added.fact)
      return {
        outcome: 'replaced',
        fact: added.fact,
        old: { ...factFromRow(surest), validTo: at },
        label: surest.label,
      }
    },

    async get(userId, id) {
      const row = await database.read
        .selectFrom('facts')
        .selectAll()
        .where('user_id', '=', userId)
        .where('id', '=', id)
        .executeTakeFirst()
      return row && factFromRow(row)
    },

    async find(question) {
      return (await findFacts(database, question)).map(factFromRow)
    },

    count: (question) => countEntities(database, question),

    async declareMultiValued(userId, attribute) {
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
    await writer
      .updateTable('facts')
      .set({ confidence: sure })
      .where('user_id', '=', known.user_id)
      .where('id', '=', known.id)
      .execute()
    await memories.usedIn(writer, known.user_id, [known.id])
    // From now on it is the user's own word, which the agent does not change.
    if (given.source === 'user' && known.source !== 'user') {
      await writer
        .updateTable('memories')
        .set({ source: 'user', label: 'owner' })
        .where('user_id', '=', known.user_id)
        .where('id', '=', known.id)
        .execute()
    }
    return { outcome: 'confirmed', fact: { ...factFromRow(known), confidence: sure } }
  }

  async function insert(
    writer: Writer,
    given: NewFact,
    proposed: FactRow,
  ): Promise<{ outcome: 'added' | 'confirmed'; fact: Fact }> {
    const { memory, isNew } = await memories.addIn(writer, {
      userId: given.userId,
      kind: 'fact',
      content: factContent(proposed),
      source: given.source,
      label: given.label,
      sessionId: given.sessionId,
      turnId: given.turnId,
      at: proposed.valid_from,
    })
    // Another entity and attribute can read the same: "a: b is c is d". The one that is there stands for both.
    if (!isNew) return { outcome: 'confirmed', fact: factFromRow({ ...proposed, id: memory.id }) }
    const row = { ...proposed, id: memory.id }
    await writer.insertInto('facts').values(row).execute()
    if (row.valid_to !== null) await memories.replaceIn(writer, { ...memory, supersededAt: row.valid_to })
    return { outcome: 'added', fact: factFromRow(row) }
  }

  async function close(writer: Writer, old: FactRow, by: Fact): Promise<void> {
    await writer
      .updateTable('facts')
      .set({ valid_to: by.validFrom })
      .where('user_id', '=', old.user_id)
      .where('id', '=', old.id)
      .execute()
    await memories.supersedeIn(writer, { userId: old.user_id, id: old.id, by: by.id })
    await supersedeStatements(writer, memories, { old, by: by.id })
  }
}

async function proposeFact(writer: Writer, given: NewFact, at: number): Promise<FactRow> {
  const named = requireLine(given.entity, { what: 'A fact’s entity', longest: longestName })
  const attribute = cleanAttribute(given.attribute)
  const value = requireLine(given.value, { what: 'A fact’s value', longest: longestValue })
  const entities = await resolveNames(writer, given.userId, named)
  // A name that two people share says of neither.
  const entity = entities.length === 1 ? (entities[0]?.name ?? named) : named
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
  return requireLine(attribute, { what: 'A fact’s attribute', longest: longestName })
}

/** What is true now of the same entity, whichever of its names it was written under. */
async function selectCurrent(writer: Writer, fact: FactRow): Promise<FactWithSource[]> {
  const names = await ownNamesOf(writer, fact.user_id, fact.entity)
  return await writer
    .selectFrom('facts')
    .innerJoin('memories', 'memories.id', 'facts.id')
    .selectAll('facts')
    .select(['memories.source', 'memories.label'])
    .where('facts.user_id', '=', fact.user_id)
    .where('facts.entity_key', 'in', [...new Set([fact.entity_key, ...names.keys()])])
    .where('facts.attribute_key', '=', fact.attribute_key)
    .where('facts.valid_to', 'is', null)
    .execute()
}

function isSurer(row: FactWithSource, than: FactWithSource): boolean {
  if (row.confidence !== than.confidence) return row.confidence > than.confidence
  if (row.source !== than.source && (row.source === 'user' || than.source === 'user')) return row.source === 'user'
  return row.valid_from > than.valid_from
}

function mayReplace(confidence: number, { source, label }: NewFact, known: FactWithSource): boolean {
  // However sure a stranger says they are (SEC-15).
  if (label === 'untrusted' && known.label !== 'untrusted') return false
  if (known.source === 'user' && source !== 'user') return confidence > known.confidence
  return confidence >= known.confidence
}

async function isMultiValued(writer: Writer, fact: FactRow): Promise<boolean> {
  if (isUsuallyMultiValued(fact.attribute_key)) return true
  const row = await writer
    .selectFrom('fact_attributes')
    .select('is_multi_valued')
    .where('user_id', '=', fact.user_id)
    .where('attribute_key', '=', fact.attribute_key)
    .executeTakeFirst()
  return row?.is_multi_valued === 1
}

/** How a fact reads as a memory. */
function factContent(fact: Pick<Fact, 'entity' | 'attribute' | 'value'>): string {
  return `${factBeginning(fact)}${fact.value}`
}

/** All of it but the value. */
export function factBeginning({ entity, attribute }: Pick<Fact, 'entity' | 'attribute'>): string {
  return `${entity}: ${attribute} is `
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
