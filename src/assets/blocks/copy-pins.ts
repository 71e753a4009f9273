import type { Writer } from '../../storage/database.ts'

/** For a fork, in the unit that makes it: the same pins, in the same order, that from now on are its own (ASSET-4). */
export async function copyPinsIn(
  writer: Writer,
  { userId, from, to }: { userId: string; from: string; to: string },
): Promise<void> {
  await writer
    .insertInto('pins')
    .columns(['user_id', 'agent', 'label', 'position', 'pinned_at'])
    .expression((expression) =>
      expression
        .selectFrom('pins')
        .select((column) => ['user_id', column.val(to).as('agent'), 'label', 'position', 'pinned_at'])
        .where('user_id', '=', userId)
        .where('agent', '=', from),
    )
    .execute()
}
