import type { Writer } from '../storage/database.ts'
import type { FactRow } from '../storage/tables.ts'
import { contentWords } from './content-words.ts'
import { foldedWords } from './fold-text.ts'
import type { Memories } from './memories.ts'

/** "I live at", "my new": words around a value that say nothing more than the fact does. */
const mostOtherWords = 1

/**
 * A fact that is no longer true was told in some words. Where a note or a line of that same turn says nothing but the fact,
 * it becomes history too: otherwise it would be found as if it were true.
 */
export async function supersedeStatements(
  writer: Writer,
  memories: Memories,
  { old, by }: { old: FactRow; by: string },
): Promise<void> {
  const told = await writer
    .selectFrom('memories')
    .select('turn_id')
    .where('user_id', '=', old.user_id)
    .where('id', '=', old.id)
    .executeTakeFirst()
  if (!told?.turn_id) return
  const sameTurn = await writer
    .selectFrom('memories')
    .select(['id', 'content'])
    .where('user_id', '=', old.user_id)
    .where('turn_id', '=', told.turn_id)
    .where('kind', 'in', ['note', 'chunk'])
    .where('superseded_at', 'is', null)
    .execute()
  const factWords = new Set(foldedWords(`${old.entity} ${old.attribute} ${old.value}`))
  const valueWords = foldedWords(old.value)
  for (const { id, content } of sameTurn) {
    const words = new Set(contentWords(content, 64).flatMap(foldedWords))
    const others = [...words].filter((word) => !factWords.has(word))
    const isTheFact = valueWords.some((word) => words.has(word)) && others.length <= mostOtherWords
    if (isTheFact) await memories.supersedeIn(writer, { userId: old.user_id, id, by })
  }
}
