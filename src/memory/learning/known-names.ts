import type { Aliases } from '../aliases.ts'
import type { Facts } from '../facts.ts'
import { entityKey } from '../fold-text.ts'
import type { Learned } from './learned.ts'

/** The keys of those names in the answer that are known from before: a user may speak of them as "she". */
export async function knownNames(
  { aliases, facts }: { aliases: Aliases; facts: Facts },
  userId: string,
  learned: Learned,
): Promise<Set<string>> {
  const named = new Map(namesIn(learned).map((name) => [entityKey(name), name]))
  if (named.size === 0) return new Set()
  const listed = await aliases.list(userId)
  const known = new Set(listed.flatMap(({ alias, entity }) => [entityKey(alias), entityKey(entity)]))
  for (const [key, name] of named) {
    if (!known.has(key) && (await facts.find({ userId, entity: name, limit: 1 })).length > 0) known.add(key)
  }
  return known
}

function namesIn({ facts, commitments, aliases }: Learned): string[] {
  return [
    ...facts.map((fact) => fact.entity),
    ...commitments.flatMap(({ who, toWhom }) => [who, toWhom ?? '']),
    ...aliases.flatMap(({ alias, entity }) => [alias, entity]),
  ].filter(Boolean)
}
