import type { Fact } from '../../memory/facts.ts'
import { entityKey, foldedWords } from '../../memory/fold-text.ts'
import type { DateRange } from '../../memory/recall/read-dates.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import type { ShownMemory } from './memory-text.ts'
import { showMemories } from './render-memories.ts'

interface FactsAsked {
  userId: string
  about?: string | undefined
  attributes?: readonly string[] | undefined
  value?: string | undefined
  history?: boolean | undefined
  /** Only what was true at that time. */
  range?: DateRange | undefined
  limit: number
}

const mostFacts = 500

/** What is counted: the values where one is asked about, else the others who have it; the user is not one of those. */
export async function queryFacts(
  needs: MemoryNeeds,
  asked: FactsAsked,
): Promise<{ found: ShownMemory[]; count: number }> {
  const facts = await findFacts(needs, asked)
  const others = asked.about === undefined ? facts.filter((fact) => entityKey(fact.entity) !== 'user') : facts
  const count = asked.about === undefined ? await countEntities(needs, asked.userId, others) : others.length
  const shown = others.slice(0, asked.limit)
  const memories = await needs.memories.getMany(
    asked.userId,
    shown.map(({ id }) => id),
  )
  const until = new Map(shown.map((fact) => [fact.id, fact.validTo]))
  const found = await showMemories(needs, asked.userId, memories)
  return { count, found: found.map((memory) => ({ ...memory, until: until.get(memory.id) ?? null })) }
}

async function findFacts(needs: MemoryNeeds, asked: FactsAsked): Promise<Fact[]> {
  const { userId, about, value, range } = asked
  const history = asked.history === true || range !== undefined
  const found = new Map<string, Fact>()
  for (const attribute of asked.attributes ?? [undefined]) {
    const question = { userId, attribute, value, history, limit: mostFacts }
    const named = await needs.facts.find({ ...question, entity: about })
    const sharing = about === undefined ? [] : await needs.facts.find(question)
    for (const fact of [...named, ...sharing.filter((fact) => sharesName(fact.entity, about))]) found.set(fact.id, fact)
  }
  return [...found.values()].filter((fact) => !range || wasTrue(fact, range))
}

/** Anna Miller and Anna Berg are both meant by "Anna", whether or not anyone said so. */
function sharesName(entity: string, about: string | undefined): boolean {
  const wanted = foldedWords(about ?? '')
  const there = new Set(foldedWords(entity))
  return wanted.length > 0 && wanted.length < there.size && wanted.every((word) => there.has(word))
}

function wasTrue({ validFrom, validTo }: Fact, { from, until }: DateRange): boolean {
  return validFrom <= until && (validTo === null || validTo >= from)
}

/** Somebody of several names is one. */
async function countEntities(needs: MemoryNeeds, userId: string, facts: readonly Fact[]): Promise<number> {
  const names = new Map(facts.map((fact) => [entityKey(fact.entity), fact.entity]))
  const entities = new Set<string>()
  for (const name of names.values()) entities.add((await needs.aliases.resolve(userId, name)).toSorted().join('\n'))
  return entities.size
}
