import { FamiliarError } from '../protocol/error.ts'
import type { Writer } from '../storage/database.ts'
import { commitmentBeginning, commitmentEnd } from './commitments.ts'
import { factBeginning } from './facts.ts'
import { valueKey, whatKey } from './fold-text.ts'
import type { Memory } from './memory.ts'

/**
 * Where the content of a memory is made of details, they follow the edited content: of a fact the value can change, of
 * a commitment what is owed. Anything else would leave the two in contradiction and is refused in words.
 */
export async function editDetails(writer: Writer, memory: Memory): Promise<void> {
  if (memory.kind === 'fact') await editFact(writer, memory)
  if (memory.kind === 'commitment') await editCommitment(writer, memory)
  if (memory.kind === 'chunk') await refuseFile(writer, memory)
}

async function editFact(writer: Writer, { userId, id, content }: Memory): Promise<void> {
  const fact = await writer
    .selectFrom('facts')
    .selectAll()
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!fact) return
  const value = between(content, factBeginning(fact), '')
  await writer
    .updateTable('facts')
    .set({ value, value_key: valueKey(value) })
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .execute()
}

async function editCommitment(writer: Writer, { userId, id, content }: Memory): Promise<void> {
  const row = await writer
    .selectFrom('commitments')
    .selectAll()
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) return
  const what = between(content, commitmentBeginning(row), commitmentEnd(row))
  await writer
    .updateTable('commitments')
    .set({ what, what_key: whatKey(what) })
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .execute()
}

async function refuseFile(writer: Writer, { userId, id }: Memory): Promise<void> {
  const row = await writer
    .selectFrom('chunks')
    .select('id')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row) throw new FamiliarError('bad_request', 'This is a passage of a file: change the file instead')
}

function between(content: string, beginning: string, end: string): string {
  const inner = content.slice(beginning.length, content.length - end.length).trim()
  if (content.startsWith(beginning) && content.endsWith(end) && inner !== '') return inner
  throw new FamiliarError('bad_request', `Its text has to read: ${beginning}…${end}`)
}
