import type { Database } from '../../../storage/database.ts'
import { fromVectorBytes, vectorNumbers } from '../../../storage/vector-bytes.ts'
import type { Capability } from '../capability.ts'
import { unpackVectors } from './capability-vectors.ts'
import type { RetirementProposal } from './catalog.ts'
import { duplicateFrom } from './meaning-scale.ts'
import { createVectorTable } from './vector-table.ts'

const dayMs = 24 * 60 * 60_000
const unusedDays = 60
/** What is used most can supersede others; comparing all with all would take minutes at ten thousand. */
const mostCompared = 500
const mostNeighbours = 10

/** What the owner might archive, in order of name: what nobody uses, and what another one does that is used more. */
export async function findRetirements(
  { database, now }: { database: Database; now: number },
  capabilities: readonly Capability[],
): Promise<RetirementProposal[]> {
  const active = capabilities.filter(({ state }) => state === 'active')
  const better = await findBetter(database, active)
  return active.flatMap(({ name, lastCalledAt, updatedAt }) => {
    const successor = better.get(name)
    if (successor) {
      return [{ name, reason: `${successor.name} does much the same and is used more (${successor.calls} calls).` }]
    }
    const days = Math.floor((now - Math.max(lastCalledAt ?? 0, updatedAt)) / dayMs)
    if (days < unusedDays) return []
    const since = lastCalledAt === null ? 'It was never called, and is' : 'It was last used'
    return [{ name, reason: `${since} ${days} days ${lastCalledAt === null ? 'old' : 'ago'}.` }]
  })
}

/** For each that has one: the most used one of those that mean the same. */
async function findBetter(database: Database, active: readonly Capability[]): Promise<ReadonlyMap<string, Capability>> {
  const better = new Map<string, Capability>()
  const used = active.filter(({ calls }) => calls > 0).sort((a, b) => b.calls - a.calls)
  if (used.length === 0) return better
  const byId = new Map(active.map((capability) => [capability.id, capability]))
  const rows = await database.read
    .selectFrom('capability_vectors')
    .innerJoin('capabilities', 'capabilities.id', 'capability_vectors.capability_id')
    .select(['capability_id', 'model', 'vector'])
    .where('user_id', '=', used[0]?.userId ?? '')
    .execute()
  for (const [model, ofModel] of Map.groupBy(rows, (row) => row.model)) {
    const vectors = new Map(ofModel.map((row) => [row.capability_id, unpackVectors(row.vector).said]))
    const [first] = vectors.values()
    if (!first) continue
    const table = createVectorTable(vectorNumbers(first).length)
    for (const [id, vector] of vectors) {
      if (byId.has(id) && vector.length === first.length) table.put(id, vectorNumbers(vector))
    }
    for (const user of used.slice(0, mostCompared)) {
      const vector = vectors.get(user.id)
      if (vector?.length !== first.length) continue
      for (const { id, cosine } of table.compare(fromVectorBytes(vector)).nearest(mostNeighbours)) {
        const other = byId.get(id)
        if (!other || cosine < duplicateFrom(model, 'written') || other.calls >= user.calls || better.has(other.name))
          continue
        better.set(other.name, user)
      }
    }
  }
  return better
}
