import type { Reader, Writer } from '../../storage/database.ts'

/** How far a task of the background has come for one user; undefined before its first step. */
export async function readMark(reader: Reader | Writer, userId: string, name: string): Promise<string | undefined> {
  const row = await reader
    .selectFrom('memory_marks')
    .select('value')
    .where('user_id', '=', userId)
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.value
}

/** A place in a log; zero before the first step, and for a mark that cannot be read. */
export async function readSeqMark(reader: Reader | Writer, userId: string, name: string): Promise<number> {
  const seq = Number(await readMark(reader, userId, name))
  return Number.isSafeInteger(seq) && seq > 0 ? seq : 0
}

/** In the unit that writes what the mark stands for: both are there, or neither. */
export async function writeMark(
  writer: Writer,
  mark: { userId: string; name: string; value: string; at: number },
): Promise<void> {
  await writer
    .insertInto('memory_marks')
    .values({ user_id: mark.userId, name: mark.name, value: mark.value, updated_at: mark.at })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'name']).doUpdateSet({ value: mark.value, updated_at: mark.at }),
    )
    .execute()
}

export async function clearMark(writer: Writer, userId: string, name: string): Promise<void> {
  await writer.deleteFrom('memory_marks').where('user_id', '=', userId).where('name', '=', name).execute()
}
