import { sql } from 'kysely'
import type { Reader } from '../../database.ts'
import { toQueryWords } from '../../query-words.ts'
import type { TextSearch } from '../../text-search.ts'
import { toSoughtWords } from '../../words/indexed-words.ts'
import { lengthFactor } from '../../words/word-weight.ts'
import { rankByNumbers } from './rank-by-numbers.ts'
import { indexText, removeText, removeTextsOf, scopeOf } from './text-index.ts'
import { inAll, readNumbers, readScope, type ScopeFigures, weigh } from './word-numbers.ts'

// Bounds what a question costs, however many texts there are: beyond it, its commonest words are looked for among
// the newest texts.
const mostNumbers = 200_000
const fewestCandidates = 200

/** `redact` takes secrets out of a text before it is cut into words: afterwards nobody could recognise them. */
export function createPostgresTextSearch({
  read,
  redact = (text) => text,
}: {
  read: Reader
  redact?: ((text: string) => string) | undefined
}): TextSearch {
  type Query = Parameters<TextSearch['search']>[0]

  async function rank({ collection, userId, limit }: Query, phrases: string[][], scope: ScopeFigures) {
    const words = [...new Set(phrases.flat())]
    const most = Math.floor(mostNumbers / words.length)
    const numbers = await readNumbers(read, { collection, userId, words, most })
    const weighed = phrases.map((phrase) => {
      const lists = phrase.map((word) => numbers.get(word) ?? new Float64Array())
      const holding = inAll(lists)
      return {
        numbers: holding,
        weight: weigh(
          holding,
          scope,
          lists.some((list) => list.length === most),
        ),
      }
    })
    return rankByNumbers(weighed, Math.max(limit * 2, fewestCandidates))
  }

  async function readEntries({ collection, userId }: Query, numbers: readonly number[]) {
    const found = await sql<{ number: number; id: string; length: number }>`
      select number, id, length from text_entries
      where number = any(${numbers}::bigint[]) and user_id = ${userId} and collection = ${collection}`.execute(read)
    return new Map(found.rows.map((row) => [row.number, row]))
  }

  return {
    index: (writer, entry) => indexText(writer, { ...entry, text: redact(entry.text) }),
    remove: removeText,
    removeUser: removeTextsOf,

    async search(query) {
      const phrases = toQueryWords(query.words)
        .map(toSoughtWords)
        .filter((phrase) => phrase.length > 0)
      if (phrases.length === 0 || query.limit < 1) return []
      const scope = await readScope(read, query)
      if (!scope) return []
      const candidates = await rank(query, phrases, scope)
      const entries = await readEntries(
        query,
        candidates.map(({ number }) => number),
      )
      return candidates
        .flatMap(({ number, weight }) => {
          const entry = entries.get(number)
          return entry ? [{ id: entry.id, score: weight * lengthFactor(entry.length), number }] : []
        })
        .sort((a, b) => b.score - a.score || b.number - a.number)
        .slice(0, query.limit)
        .map(({ id, score }) => ({ id, score }))
    },

    async withAll({ collection, userId, words, limit }) {
      // The longest is likely to be the rarest.
      const sought = words
        .flatMap(toQueryWords)
        .flatMap(toSoughtWords)
        .sort((a, b) => b.length - a.length)
      const [rarest, ...others] = new Set(sought)
      if (rarest === undefined || limit < 1) return []
      const scope = sql`${scopeOf(collection, userId)}::bigint`
      const alsoHolds = others.map(
        (word) => sql`and exists (
          select from text_index where scope = ${scope} and word = ${word} and number = held.number)`,
      )
      const found = await sql<{ id: string }>`
        select text_entries.id as id
        from text_index as held join text_entries on text_entries.number = held.number
        where held.scope = ${scope} and held.word = ${rarest} ${sql.join(alsoHolds, sql` `)}
          and text_entries.user_id = ${userId} and text_entries.collection = ${collection}
        limit ${limit}`.execute(read)
      return found.rows.map((row) => row.id)
    },

    // Removed rows are taken away by vacuum, together with those of all other tables.
    async scrub() {},
  }
}
