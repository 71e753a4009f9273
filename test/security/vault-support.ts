import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createRedactor } from '../../src/security/redactor.ts'
import { createVault, type RotationStep, type Vault } from '../../src/security/vault.ts'
import type { Database } from '../../src/storage/database.ts'
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'

export interface OpenVault extends AsyncDisposable {
  vault: Vault
  database: Database
  redact(text: string): string
  keyFile: string
}

export function temporaryHome(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'familiar-vault-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** A vault over a database of its own, with the owner Anna and another user. */
export async function openVaultIn(home: string, onStep?: (step: RotationStep) => void): Promise<OpenVault> {
  const clock = systemClock()
  const path = join(home, 'familiar.db')
  const database = await openSqlite({ path, clock, snapshotDirectory: join(home, 'backups') })
  await database.write(async (writer) => {
    for (const [id, role] of [
      ['anna', 'owner'],
      ['ben', 'user'],
    ] as const) {
      await writer
        .insertInto('users')
        .values({ id, name: id, role, created_at: 1 })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
  })
  const redactor = createRedactor()
  const keyFile = join(home, 'key')
  const vault = createVault({ database, keyFile, clock, redactor, ...(onStep && { onStep }) })
  return { vault, database, redact: redactor.redact, keyFile, [Symbol.asyncDispose]: database.close }
}
