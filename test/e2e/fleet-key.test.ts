import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { checkKeyFile } from '../../src/daemon/doctor/examine.ts'
import { keyFileOf } from '../../src/daemon/home-paths.ts'
import { createRedactor } from '../../src/security/redactor.ts'
import { createVault } from '../../src/security/vault.ts'
import type { Database } from '../../src/storage/database.ts'
import { openTestDatabase } from '../support/open-test-database.ts'
import { whyNoPostgres } from '../support/postgres/start-postgres.ts'
import { cleanUp, familiar } from './cli-process.ts'
import { openFleetBench } from './fleet-bench.ts'

const secret = { userId: 'anna', owner: 'tool:weather', name: 'api_key' }

describe('the place of the key for secrets', () => {
  const paths = { key: '/home/anna/.familiar/key' }
  const server = { database: { url: 'postgres:///familiar', poolSize: 4 }, keyFile: null }

  it('SEC-13 with the home, in the directory that daemons share, or where the environment says; never in a bucket', () => {
    const shared = { kind: 'directory', directory: '/mnt/familiar' } as const
    expect(keyFileOf({ ...server, shared }, paths)).toBe('/mnt/familiar/key')
    expect(keyFileOf({ ...server, shared, database: { ...server.database, url: null } }, paths)).toBe(paths.key)
    expect(keyFileOf({ ...server, shared: null }, paths)).toBe(paths.key)
    expect(keyFileOf({ ...server, shared: { kind: 's3' } as never }, paths)).toBe(paths.key)
    expect(keyFileOf({ ...server, shared, keyFile: '/run/keys/familiar' }, paths)).toBe('/run/keys/familiar')
  })
})

describe('doctor checks the key', () => {
  let folder: string
  let database: Database
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'familiar-key-'))
    database = await openTestDatabase({ engine: 'sqlite' })
    const anna = { id: 'anna', name: 'Anna', role: 'owner', created_at: 1 } as const
    await database.write((writer) => writer.insertInto('users').values(anna).execute())
  })
  afterEach(async () => {
    await database.close()
    rmSync(folder, { recursive: true })
  })

  it('SEC-13 other daemons cannot read secrets sealed with the key of a home, and the repair', async () => {
    const homeKey = join(folder, 'home-key')
    const keyFile = join(folder, 'key')
    const vault = createVault({ database, keyFile: homeKey, clock: systemClock(), redactor: createRedactor() })
    await vault.set(secret, 'kestrel-41-lantern')
    expect(await checkKeyFile(database, { keyFile: homeKey, homeKey })).toMatchObject({ state: 'warn' })
    const lost = await checkKeyFile(database, { keyFile, homeKey })
    expect(lost).toMatchObject({ state: 'fail', mend: `cp -p ${homeKey} ${keyFile}` })
    copyFileSync(homeKey, keyFile)
    expect(await checkKeyFile(database, { keyFile, homeKey })).toMatchObject({ state: 'ok' })
    writeFileSync(keyFile, `${'0'.repeat(64)}\n`)
    expect(await checkKeyFile(database, { keyFile, homeKey })).toMatchObject({ state: 'fail', message: /another key/ })
  })
})

describe.skipIf(whyNoPostgres())('a new key while daemons share the database', () => {
  afterEach(cleanUp)

  it('SEC-13 is refused: they would continue with the old one', async () => {
    const bench = await openFleetBench()
    const home = join(bench.shared, 'another-home')
    mkdirSync(home, { mode: 0o700 })
    const env = { FAMILIAR_DATABASE_URL: bench.databaseUrl, FAMILIAR_KEY_FILE: join(bench.shared, 'key') }
    const running = await bench.start('api')
    const refused = await familiar(['secrets', 'rotate-key'], { home, env })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('1 daemon uses the database.') })
    await running.daemon.close(0)
    const rotated = await familiar(['secrets', 'rotate-key'], { home, env })
    expect(rotated).toMatchObject({ code: 0, stdout: expect.stringContaining(env.FAMILIAR_KEY_FILE) })
    await bench.close()
  })
})
