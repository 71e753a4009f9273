import { FamiliarError } from '../protocol/error.ts'
import type { Database, Writer } from '../storage/database.ts'
import { newKey, removeKeyFile, replaceKeyFile, writeKeyFile } from './key-file.ts'
import { nextKeyFile } from './load-vault-key.ts'
import { createVaultKey, type SecretName, type VaultKey } from './vault-key.ts'

export interface RotationOutcome {
  sealed: number
  discarded: number
}

/** For tests that end the process there. */
export type RotationStep = 'key_written' | 'sealed_anew' | 'committed' | 'key_replaced'

/**
 * A new key, and every secret sealed with it. The old key stays in its file until the rows are committed; whatever ends
 * the process in between, `loadVaultKey` finds a key that opens them all. With `current` undefined or `discardLost`, what
 * does not open is removed; otherwise it stops the rotation and nothing changes.
 */
export async function rotateVaultKey(options: {
  database: Database
  keyFile: string
  current: VaultKey | undefined
  discardLost: boolean
  /** Before the first row is seen with it. */
  onKey(key: VaultKey, text: string): void
  onStep(step: RotationStep): void
}): Promise<RotationOutcome> {
  const { database, keyFile, onStep } = options
  const bytes = newKey()
  const key = createVaultKey(bytes)
  const waiting = nextKeyFile(keyFile)
  options.onKey(key, bytes.toString('hex'))
  await writeKeyFile(waiting, bytes)
  onStep('key_written')
  try {
    const outcome = await database.write(async (writer) => {
      const done = await sealAnew(writer, { ...options, key })
      onStep('sealed_anew')
      return done
    })
    onStep('committed')
    await replaceKeyFile(keyFile, waiting)
    onStep('key_replaced')
    return outcome
  } catch (cause) {
    await dropUnlessUsed(database, waiting, key)
    throw cause
  }
}

async function sealAnew(
  writer: Writer,
  { current, key, discardLost }: { current: VaultKey | undefined; key: VaultKey; discardLost: boolean },
): Promise<RotationOutcome> {
  const outcome = { sealed: 0, discarded: 0 }
  for (const row of await writer.selectFrom('secrets').selectAll().execute()) {
    const secret: SecretName = { userId: row.user_id, owner: row.owner, name: row.name }
    const value = row.key_id === current?.id ? current.open(secret, row.sealed) : undefined
    if (value === undefined && !discardLost) throw unreadable(secret)
    const isRow = { user_id: row.user_id, owner: row.owner, name: row.name }
    if (value === undefined) {
      await writer
        .deleteFrom('secrets')
        .where((where) => where.and(isRow))
        .execute()
      outcome.discarded += 1
    } else {
      const sealed = { key_id: key.id, sealed: key.seal(secret, value) }
      await writer
        .updateTable('secrets')
        .set(sealed)
        .where((where) => where.and(isRow))
        .execute()
      outcome.sealed += 1
    }
  }
  return outcome
}

/** A commit may have been made although it was reported as failed: then the key that waits is the only one that opens. */
async function dropUnlessUsed(database: Database, waiting: string, key: VaultKey): Promise<void> {
  const used = await database.read.selectFrom('secrets').select('name').where('key_id', '=', key.id).executeTakeFirst()
  if (!used) await removeKeyFile(waiting)
}

function unreadable({ owner, name }: SecretName): FamiliarError {
  return new FamiliarError(
    'conflict',
    `${name} of ${owner} cannot be read with this key, so no new one was made. Set it again, or remove what cannot be read: familiar secrets rotate-key --discard-lost`,
  )
}
