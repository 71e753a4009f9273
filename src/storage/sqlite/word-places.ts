import { sql } from 'kysely'
import type { Reader } from '../database.ts'
import { parseNumbers } from '../words/parse-numbers.ts'
import type { WordPlaces } from './rank-by-words.ts'
import type { TextScope } from './text-scope.ts'

/** The newest texts that hold the phrase. */
export async function readPlaces(
  read: Reader,
  { scope, phrase, most }: { scope: TextScope; phrase: string; most: number },
): Promise<WordPlaces> {
  // As whole numbers: FTS5 passes over a range of floats.
  const [first, last] = [BigInt(scope.first), BigInt(scope.last)]
  // One value instead of a row for each: that is what the time would go into.
  const found = await sql<{ places: string | null }>`
    select group_concat(place) as places from (
      select rowid - ${first} as place from text_index
      where text_index match ${phrase} and rowid between ${first} and ${last}
      order by rowid desc limit ${most}
    )`.execute(read)
  const places = parseNumbers(found.rows[0]?.places ?? '', Int32Array)
  return { places, isCut: places.length === most }
}
