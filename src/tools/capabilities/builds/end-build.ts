import type { Writer } from '../../../storage/database.ts'
import type { Build } from './builds.ts'

/** True for the one that ended it: of several that try at the same time, the others have changed nothing. */
export async function endBuildIn(
  writer: Writer,
  build: Pick<Build, 'id'>,
  { state, error, now }: { state: Exclude<Build['state'], 'running'>; error: string | null; now: number },
): Promise<boolean> {
  const { numUpdatedRows } = await writer
    .updateTable('builds')
    .set({ state, error, updated_at: now, ended_at: now })
    .where('id', '=', build.id)
    .where('state', '=', 'running')
    .executeTakeFirst()
  if (Number(numUpdatedRows) !== 1) return false
  await writer
    .updateTable('build_questions')
    .set({ state: 'expired' })
    .where('build_id', '=', build.id)
    .where('state', '=', 'asked')
    .execute()
  return true
}
