import type { Facts } from '../facts.ts'
import { attributeKey, foldText } from '../fold-text.ts'
import type { Learned } from './learned.ts'
import { isRelation } from './plain-people.ts'

/**
 * "My colleague Anna", where Anna is known as the sister, is another person of that name: from now on `Anna (colleague)`.
 * Otherwise what is told of the one would replace what is known of the other.
 */
export async function tellNamesakesApart(facts: Facts, userId: string, learned: Learned): Promise<Learned> {
  const others = new Map<string, string>()
  for (const { entity, attribute, value } of learned.facts) {
    if (entity !== 'user' || !isRelation(attribute)) continue
    const known = await facts.find({ userId, entity: 'user', value })
    const sameName = known.filter((fact) => isRelation(fact.attribute) && foldText(fact.value) === foldText(value))
    const isKnown = sameName.some((fact) => attributeKey(fact.attribute) === attributeKey(attribute))
    if (sameName.length > 0 && !isKnown) others.set(value, `${value} (${attribute})`)
  }
  if (others.size === 0) return learned
  const renamed = (name: string) => others.get(name) ?? name
  return {
    ...learned,
    facts: learned.facts.map((fact) => ({ ...fact, entity: renamed(fact.entity), value: renamed(fact.value) })),
    commitments: learned.commitments.map((commitment) => ({
      ...commitment,
      who: renamed(commitment.who),
      toWhom: commitment.toWhom === null ? null : renamed(commitment.toWhom),
    })),
    aliases: learned.aliases.map(({ alias, entity }) => ({ alias, entity: renamed(entity) })),
  }
}
