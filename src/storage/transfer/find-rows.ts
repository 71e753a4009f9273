import { isMadeAnew, ofTheMoment } from './moved-tables.ts'
import { readTableNames, type TransferEnd } from './table-plan.ts'

/** The name of a table that holds something; undefined where nothing was ever written. */
export async function findRows(end: TransferEnd): Promise<string | undefined> {
  for (const name of await readTableNames(end)) {
    if (isMadeAnew(name) && !ofTheMoment.has(name)) continue
    const row = await end.read.selectFrom(name).selectAll().limit(1).executeTakeFirst()
    if (row) return name
  }
  return undefined
}
