import type { Database } from '../../storage/database.ts'
import { contentWords } from '../content-words.ts'
import { foldText } from '../fold-text.ts'
import { allNamesOf } from '../resolve-names.ts'

const readCharacters = 1_000
const mostWords = 32
/** Words of one name: "my aunt May". */
const longestName = 3
const mostOtherNames = 16
const possessive = /'s(?![\p{L}\p{N}])/gu
const word = /[\p{L}\p{N}\p{M}]+(?:['.-][\p{L}\p{N}\p{M}]+)*/gu

/**
 * How else those are called whom a text names, through all their aliases: what is asked of "Mum" is written of Greta.
 * Empty for most texts, after one look.
 */
export async function otherNames(database: Database, userId: string, text: string): Promise<string[]> {
  const named = namesIn(text)
  if (named.size === 0) return []
  // Two questions: with an `or` SQLite would walk all of the user's names.
  const known = await Promise.all([
    knownNames(database, userId, 'alias_key', [...named]),
    knownNames(database, userId, 'entity_key', [...named]),
  ])
  const others = new Map<string, string>()
  for (const key of new Set(known.flat())) {
    for (const [otherKey, other] of await allNamesOf(database.read, userId, key)) {
      if (!named.has(otherKey)) others.set(otherKey, other)
    }
  }
  return [...others.values()].slice(0, mostOtherNames)
}

async function knownNames(
  database: Database,
  userId: string,
  by: 'alias_key' | 'entity_key',
  keys: readonly string[],
): Promise<string[]> {
  const rows = await database.read
    .selectFrom('entity_aliases')
    .select(by)
    .distinct()
    .where('user_id', '=', userId)
    .where(by, 'in', keys)
    .limit(mostOtherNames)
    .execute()
  return rows.map((row) => row[by])
}

/** Whatever in the text could be a name, as its key: each word, and words that stand side by side. */
function namesIn(text: string): Set<string> {
  const plain = foldText(text.slice(0, readCharacters)).replaceAll(possessive, '')
  const words = (plain.match(word) ?? []).slice(0, mostWords)
  // "I" and "me" are everywhere, and "will" is seldom somebody.
  const isTelling = words.map((one) => contentWords(one).length > 0)
  const names = new Set<string>()
  for (let length = 1; length <= longestName; length += 1) {
    for (let start = 0; start + length <= words.length; start += 1) {
      if (isTelling.slice(start, start + length).includes(true)) names.add(words.slice(start, start + length).join(' '))
    }
  }
  return names
}
