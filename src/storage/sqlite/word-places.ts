import { sql } from 'kysely'
import type { Reader } from '../database.ts'
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
  const places = parseNumbers(found.rows[0]?.places ?? '')
  return { places, isCut: places.length === most }
}

/** Of digits and commas. */
function parseNumbers(list: string): Int32Array {
  // A digit and a comma at least.
  const numbers = new Int32Array(Math.ceil(list.length / 2))
  let count = 0
  let number = 0
  for (let index = 0; index < list.length; index += 1) {
    const code = list.charCodeAt(index)
    if (code === comma) {
      numbers[count] = number
      count += 1
      number = 0
    } else number = number * 10 + code - zero
  }
  if (list === '') return numbers
  numbers[count] = number
  return numbers.subarray(0, count + 1)
}

const comma = 0x2c
const zero = 0x30
