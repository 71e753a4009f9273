import { setImmediate } from 'node:timers/promises'
import type { Database } from '../storage/database.ts'
import type { Mentions } from './mentions.ts'

/** What is being forgotten: everything of one user that mentions something. */
export interface Forgetting {
  database: Database
  userId: string
  mentions: Mentions
  /** The words of its names, folded: for what is kept by single words. */
  words: ReadonlySet<string>
  signal: AbortSignal | undefined
}

/**
 * Page after page until one is empty; `work` gets each and returns where the next begins. Between two pages everybody
 * else has a turn: reading a whole history takes seconds.
 */
export async function everyPage<Row>(
  { signal }: Forgetting,
  read: (last: Row | undefined) => Promise<Row[]>,
  work: (rows: Row[]) => Promise<void>,
): Promise<void> {
  let last: Row | undefined
  do {
    signal?.throwIfAborted()
    await setImmediate()
    const rows = await read(last)
    await work(rows)
    last = rows.at(-1)
  } while (last !== undefined)
}
