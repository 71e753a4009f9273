import { execFileSync } from 'node:child_process'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it } from 'vitest'
import { appendEvent, eventNumbers, seed, temporaryDirectory } from '../../../test/contract/storage-support.ts'
import { createPostgresDatabase, sharedPostgres } from '../../../test/support/postgres/postgres-database.ts'
import { whyNoPostgres } from '../../../test/support/postgres/start-postgres.ts'
import { systemClock } from '../../base/clock.ts'
import { openPostgres } from './open-postgres.ts'

const isRoot = process.getuid?.() === 0

/** A file system of a few megabytes, owned by the server's user. */
async function onSmallDisk(check: (directory: string) => Promise<void>): Promise<void> {
  using directory = temporaryDirectory()
  const { uid } = statSync((await sharedPostgres()).directory)
  execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', `size=24m,mode=700,uid=${uid}`, 'tmpfs', directory.path])
  try {
    execFileSync('/usr/bin/chmod', ['755', directory.path])
    await check(directory.path)
  } finally {
    execFileSync('/usr/bin/umount', ['--lazy', directory.path])
  }
}

it.skipIf(!isRoot || whyNoPostgres())(
  'SEC-20 STORE-1 SCALE-1 on a full disk: storage_full, nothing lost, works again when space is free',
  () =>
    onSmallDisk(async (directory) => {
      await using made = await createPostgresDatabase({ migrated: true })
      const admin = new pg.Client((await sharedPostgres()).urlOf('postgres'))
      await admin.connect()
      await admin.query(`create tablespace small location '${directory}'`)
      await admin.query(`alter database ${made.name} set tablespace small`)
      const ballast = join(directory, 'ballast')
      writeFileSync(ballast, Buffer.alloc(4 * 1024 * 1024))

      const database = await openPostgres({ url: made.url, clock: systemClock(), poolSize: 4 })
      await seed(database)
      const acknowledged: number[] = []
      let refusal: unknown
      // Random text, which does not compress.
      const text = () => Array.from({ length: 1000 }, () => Math.random().toString(36)).join('')
      for (let seq = 1; seq < 4000 && !refusal; seq += 1) {
        await database
          .write((writer) => appendEvent(writer, seq, text()))
          .then(() => acknowledged.push(seq))
          .catch((error: unknown) => {
            refusal = error
          })
      }
      expect(refusal).toMatchObject({ code: 'storage_full' })
      expect(acknowledged.length).toBeGreaterThan(10)
      expect(await eventNumbers(database)).toEqual(acknowledged)

      rmSync(ballast)
      await database.write((writer) => appendEvent(writer, 9999, text()))
      expect(await eventNumbers(database)).toEqual([...acknowledged, 9999])
      expect(await database.checkIntegrity()).toEqual([])
      await database.close()
      await made.drop()
      await admin.query('drop tablespace small')
      await admin.end()
    }),
)
