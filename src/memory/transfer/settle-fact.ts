import type { Writer } from '../../storage/database.ts'
import { attributeKey, entityKey, valueKey } from '../fold-text.ts'
import type { Memories } from '../memories.ts'
import type { Memory, MemorySource } from '../memory.ts'
import { isUsuallyMultiValued } from '../multi-valued.ts'
import { ownNamesOf } from '../resolve-names.ts'
import type { MemoryRecord } from './record.ts'

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
 * What an imported fact is beside those that were there before: true as well, the successor of what was true, or history.
 * The same rules hold as for a fact that is told: the later one counts, unless the earlier is surer or the user's own.
 */
export async function settleFact(
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

/** What was true of the same before the import. */
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
