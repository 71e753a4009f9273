// Writes units for ever, several at a time, and prints the number of each one that was acknowledged.
import { writeSync } from 'node:fs'
import { appendEvent, openIn, seed } from './storage-support.ts'

const database = await openIn(process.argv[2] ?? '')
await seed(database)

let seq = 0
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
