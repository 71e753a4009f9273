import { execFileSync } from 'node:child_process'
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { appendEvent, eventNumbers, openIn, seed, temporaryDirectory } from '../../../test/contract/storage-support.ts'
import type { Database } from '../database.ts'

const kilobytes20 = 'x'.repeat(20_000)

/** Writes, four units at a time, until the disk is full. Returns the acknowledged units. */
async function writeUntilFull(database: Database): Promise<number[]> {
  const acknowledged: number[] = []
  for (let seq = 1; seq < 4000; seq += 4) {
    const units = [seq, seq + 1, seq + 2, seq + 3].map((number) =>
      database
        .write((writer) => appendEvent(writer, number, kilobytes20))
        .then(() => {
          acknowledged.push(number)
        }),
    )
    const outcomes = await Promise.allSettled(units)
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    if (refused.length === 0) continue
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'storage_full' })
    return acknowledged
  }
  throw new Error('the disk never became full')
}

function inSmallFileSystem(check: (directory: string) => Promise<void>): () => Promise<void> {
  return async () => {
    using directory = temporaryDirectory()
    execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', directory.path])
    try {
      await check(directory.path)
    } finally {
      execFileSync('/usr/bin/umount', ['--lazy', directory.path])
    }
  }
}

function canMount(): boolean {
  try {
    using directory = temporaryDirectory()
    execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory.path], { stdio: 'ignore' })
    execFileSync('/usr/bin/umount', [directory.path])
    return true
  } catch {
    return false
  }
}

const mountable = canMount()

describe('a full disk', () => {
  test('SEC-20 STORE-1 at the page limit: storage_full, nothing lost, works again when space is free', async () => {
    using directory = temporaryDirectory()
    const database = await openIn(directory.path)
    await seed(database)
    const setLimit = (pages: number) =>
      database.write((writer) => sql`pragma max_page_count = ${sql.lit(pages)}`.execute(writer))
    await setLimit(300)
    const acknowledged = await writeUntilFull(database)
    expect(acknowledged.length).toBeGreaterThan(10)
    expect(await eventNumbers(database)).toEqual(acknowledged)
    await setLimit(1_000_000)
    await database.write((writer) => appendEvent(writer, 9999, kilobytes20))
    expect(await eventNumbers(database)).toEqual([...acknowledged, 9999])
    expect(await database.checkIntegrity()).toEqual([])
    await database.close()
  })

  test.runIf(mountable)(
    'SEC-20 STORE-1 on a full file system: storage_full, nothing lost, works again when space is free',
    inSmallFileSystem(async (directory) => {
      const ballast = join(directory, 'ballast')
      writeFileSync(ballast, Buffer.alloc(1024 * 1024))
      const database = await openIn(directory)
      await seed(database)
      const acknowledged = await writeUntilFull(database)
      expect(await eventNumbers(database)).toEqual(acknowledged)
      const large = database.write((writer) => appendEvent(writer, 9998, 'x'.repeat(400_000)))
      await expect(large).rejects.toMatchObject({ code: 'storage_full' })

      rmSync(ballast)
      await database.write((writer) => appendEvent(writer, 9999, kilobytes20))
      expect(await database.checkIntegrity()).toEqual([])
      await database.close()
      const again = await openIn(directory)
      expect(await eventNumbers(again)).toEqual([...acknowledged, 9999])
      await again.close()
    }),
  )

  test.runIf(mountable)(
    'SEC-20 STORE-4 a backup on a full disk reports storage_full and leaves nothing behind',
    inSmallFileSystem(async (directory) => {
      const database = await openIn(directory)
      await seed(database)
      await database.write((writer) => appendEvent(writer, 1, 'x'.repeat(500_000)))
      const disk = statfsSync(directory)
      writeFileSync(join(directory, 'ballast'), Buffer.alloc((disk.bavail - 40) * disk.bsize))
      const before = readdirSync(directory)
      await expect(database.backup(join(directory, 'copy.db'))).rejects.toMatchObject({ code: 'storage_full' })
      expect(readdirSync(directory)).toEqual(before)
      await database.write((writer) => appendEvent(writer, 2))
      await database.close()
    }),
  )

  test.runIf(mountable)(
    'SEC-20 a first start on a full disk reports it',
    inSmallFileSystem(async (directory) => {
      const disk = statfsSync(directory)
      writeFileSync(join(directory, 'ballast'), Buffer.alloc((disk.bavail - 4) * disk.bsize))
      await expect(openIn(directory)).rejects.toMatchObject({ code: 'storage_full' })
      rmSync(join(directory, 'ballast'))
      const database = await openIn(directory)
      await seed(database)
      await database.close()
    }),
  )
})
