import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { Database } from '../../src/storage/database.ts'
import { openPostgres } from '../../src/storage/postgres/open-postgres.ts'
import { createPostgresDatabase } from '../support/postgres/postgres-database.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres/start-postgres.ts'
import { appendEvent, eventNumbers, numbers, seed } from './storage-support.ts'

const child = new URL('./storage-kill-child.ts', import.meta.url).pathname
const missing = whyNoPostgres()
const open = (url: string) => openPostgres({ url, clock: systemClock() })

/** Kills the writing process as soon as it has acknowledged that many units. Returns all that it acknowledged. */
async function killAfter(url: string, from: number, units: number): Promise<number[]> {
  const writer = spawn(process.execPath, [child, url, `${from}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  writer.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (output.split('\n').length > units) writer.kill('SIGKILL')
  })
  await once(writer, 'close')
  // The last line may be cut by the kill.
  return output.split('\n').slice(0, -1).map(Number)
}

describe.skipIf(missing)(missing ?? 'PostgreSQL', () => {
  it('STORE-1 SCALE-2 a process is killed while it writes: every acknowledged unit is there, and others continue', async () => {
    await using made = await createPostgresDatabase({ migrated: true })
    const acknowledged: number[] = []
    for (const [index, units] of [1, 30, 130].entries()) {
      const before = index * 100_000
      acknowledged.push(...(await killAfter(made.url, before, units)))
      const database = await open(made.url)
      expect(await eventNumbers(database)).toEqual(expect.arrayContaining(acknowledged))
      // The locks of the dead process are free.
      await database.write((writer) => appendEvent(writer, before + 99_999))
      expect(await database.checkIntegrity()).toEqual([])
      await database.close()
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(161)
  })

  it('STORE-1 SCALE-2 the server is killed and started again: what waited goes through, all that was acknowledged is there', async () => {
    const server = await startPostgres()
    try {
      const database = await open(server.urlOf('postgres'))
      await seed(database)
      const { acknowledged, unknown } = await writeThrough(database, () => process.kill(server.pid(), 'SIGQUIT'))
      const stored = await eventNumbers(database)
      expect(stored).toEqual(expect.arrayContaining(acknowledged))
      expect([...acknowledged, ...unknown].toSorted((a, b) => a - b)).toEqual(numbers(1, 90))
      expect(acknowledged).toContain(90)
      await database.close()
    } finally {
      await server.stop()
    }
  })
})

/** Ninety units, three at a time, with a failure after the first thirty. Nothing may reject but an unknown commit. */
async function writeThrough(database: Database, fail: () => void) {
  const acknowledged: number[] = []
  const unknown: number[] = []
  for (let seq = 1; seq <= 90; seq += 3) {
    if (seq === 31) fail()
    const units = [seq, seq + 1, seq + 2].map(async (number) => {
      try {
        await database.write((writer) => appendEvent(writer, number, 'x'.repeat(1000)))
        acknowledged.push(number)
      } catch (error) {
        expect(error).toMatchObject({ message: expect.stringMatching(/may or may not be stored/) })
        unknown.push(number)
      }
    })
    await Promise.all(units)
  }
  return { acknowledged, unknown }
}
