import type { Database } from '../../storage/database.ts'
import { modelsInUse } from './missing-vectors.ts'

const mostRows = 500

/** Deletes some of the vectors of models other than this one. False when there are none left. */
export async function dropOtherModels(database: Database, current: string): Promise<boolean> {
  const model = (await modelsInUse(database.read)).find((used) => used !== current)
  if (model === undefined) return false
  const rows = await database.read
    .selectFrom('memory_vectors')
    .select(['user_id', 'place'])
    .where('model', '=', model)
    .orderBy('user_id')
    .orderBy('place')
    .limit(mostRows)
    .execute()
  await database.write(async (writer) => {
    for (const [userId, own] of Map.groupBy(rows, (row) => row.user_id)) {
      await writer
        .deleteFrom('memory_vectors')
        .where('model', '=', model)
        .where('user_id', '=', userId)
        .where('place', '<=', own.at(-1)?.place ?? 0)
        .execute()
    }
  })
  return true
}
