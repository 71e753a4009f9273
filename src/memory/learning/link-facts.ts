import type { Writer } from '../../storage/database.ts'
import type { MemoryGraph } from '../graph.ts'

const mostLinks = 8
const weight = 0.8

/**
 * Joins a fact to those about whoever it names: "user: sister is Anna" to what is known of Anna, and back. So what is
 * true of the sister is found from her.
 */
export async function linkFactIn(writer: Writer, graph: MemoryGraph, userId: string, factId: string): Promise<void> {
  const fact = await writer
    .selectFrom('facts')
    .select(['entity_key', 'value_key'])
    .where('user_id', '=', userId)
    .where('id', '=', factId)
    .executeTakeFirst()
  if (!fact) return
  const live = writer.selectFrom('facts').select('id').where('user_id', '=', userId).where('valid_to', 'is', null)
  const about = await live.where('entity_key', '=', fact.value_key).where('id', '!=', factId).limit(mostLinks).execute()
  for (const { id } of about) {
    await graph.linkIn(writer, userId, { sourceId: factId, targetId: id, relation: 'names', weight })
  }
  if (fact.entity_key === 'user') return
  const naming = await live
    .where('value_key', '=', fact.entity_key)
    .where('id', '!=', factId)
    .limit(mostLinks)
    .execute()
  for (const { id } of naming) {
    await graph.linkIn(writer, userId, { sourceId: id, targetId: factId, relation: 'names', weight })
  }
}
