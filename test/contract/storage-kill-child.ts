// Writes units endlessly, several at a time, and prints the number of each acknowledged one.
import { writeSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import { openPostgres } from '../../src/storage/postgres/open-postgres.ts'
import { appendEvent, openIn, seed } from './storage-support.ts'

const [where = '', from = '0'] = process.argv.slice(2)
const isUrl = where.startsWith('postgres:')
const database = isUrl ? await openPostgres({ url: where, clock: systemClock() }) : await openIn(where)
if (from === '0') await seed(database)

let seq = Number(from)
async function writeForEver(): Promise<never> {
  for (;;) {
    seq += 1
    const number = seq
    await database.write((writer) => appendEvent(writer, number, 'x'.repeat(3000)))
    // At once and unbuffered: what the parent reads was acknowledged before the kill.
    writeSync(1, `${number}\n`)
  }
}

await Promise.all([writeForEver(), writeForEver(), writeForEver()])
