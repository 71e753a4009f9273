import type { Database } from '../../storage/database.ts'
import { selectMemories } from '../memories.ts'

const rowsPerPage = 500

/** What was imported as history names what took its place: by its new id, where that could not keep its own. */
export async function remapSuccessors(
  database: Database,
  { userId, newIds, newestBefore }: { userId: string; newIds: ReadonlyMap<string, string>; newestBefore: number },
): Promise<void> {
  let last: number | undefined = newIds.size > 0 ? newestBefore : undefined
  while (last !== undefined) {
    const rows = await selectMemories(database.read, userId)
      .where('number', '>', last)
      .where('superseded_by', 'is not', null)
      .orderBy('number')
      .limit(rowsPerPage)
      .execute()
    await database.write(async (writer) => {
      for (const { id, superseded_by } of rows) {
        const successor = newIds.get(superseded_by ?? '')
        if (successor === undefined) continue
        await writer
          .updateTable('memories')
          .set({ superseded_by: successor })
          .where('user_id', '=', userId)
          .where('id', '=', id)
          .execute()
      }
    })
    last = rows.at(-1)?.number
  }
}
