import { sql } from 'kysely'
import type { Reader } from '../../database.ts'
import { parseNumbers } from '../../words/parse-numbers.ts'
import { wordWeight } from '../../words/word-weight.ts'
import { scopeOf } from './text-index.ts'

/** The texts of one user in one collection. */
export interface ScopeFigures {
  texts: number
  /** The lowest and the highest of their numbers. */
  first: number
  newest: number
}

// Counting so many takes about a millisecond. Where there are more, their share of the numbers tells how many.
const mostCounted = 10_000

export async function readScope(
  read: Reader,
  { collection, userId }: { collection: string; userId: string },
): Promise<ScopeFigures | undefined> {
  const found = await sql<{ counted: number; oldest: number; newest: number; first: number }>`
    select count(*) as counted, min(number) as oldest, max(number) as newest, (
      select min(number) from text_entries where user_id = ${userId} and collection = ${collection}
    ) as first
    from (
      select number from text_entries where user_id = ${userId} and collection = ${collection}
      order by number desc limit ${mostCounted}
    ) as counted`.execute(read)
  const [row] = found.rows
  if (!row || row.counted === 0) return undefined
  const { counted, oldest, newest, first } = row
  const texts = counted < mostCounted ? counted : Math.round(extrapolate(counted, oldest, { first, newest }))
  return { texts, first, newest }
}

/** The texts that hold each word, the newest first, and no more than `most`. */
export async function readNumbers(
  read: Reader,
  query: { collection: string; userId: string; words: readonly string[]; most: number },
): Promise<Map<string, Float64Array>> {
  const { collection, userId, words, most } = query
  const found = await sql<{ word: string; numbers: string | null }>`
    select sought.word as word, (
      select string_agg(newest.number::text, ',') from (
        select number from text_index
        where scope = ${scopeOf(collection, userId)}::bigint and text_index.word = sought.word
        order by number desc limit ${most}
      ) as newest
    ) as numbers
    from unnest(${words}::text[]) as sought (word)`.execute(read)
  return new Map(found.rows.map(({ word, numbers }) => [word, parseNumbers(numbers ?? '', Float64Array)]))
}

/** Where only the newest were read, as many more are taken for granted as their share of the numbers says. */
export function weigh(numbers: Float64Array, scope: ScopeFigures, isCut: boolean): number {
  const holding = isCut ? extrapolate(numbers.length, numbers.at(-1) ?? scope.first, scope) : numbers.length
  return wordWeight(Math.min(holding, scope.texts), scope.texts)
}

function extrapolate(count: number, oldest: number, { first, newest }: { first: number; newest: number }): number {
  return (count * (newest - first + 1)) / (newest - oldest + 1)
}

/** What all of the lists hold, in their order. */
export function inAll(lists: readonly Float64Array[]): Float64Array {
  const [first = new Float64Array(), ...others] = lists
  const held = others.map((list) => new Set(list))
  return held.length === 0 ? first : first.filter((number) => held.every((list) => list.has(number)))
}
