import { FamiliarError } from '../protocol/error.ts'
import type { Database } from '../storage/database.ts'
import { makeKeyFile, readKeyFile, removeKeyFile, replaceKeyFile } from './key-file.ts'
import { createVaultKey, type VaultKey } from './vault-key.ts'

/** Where a new key waits while the secrets are sealed anew. */
export function nextKeyFile(keyFile: string): string {
  return `${keyFile}.next`
}

/**
 * The key that the stored secrets are sealed with; made where there is none and nothing is sealed. A rotation that was
 * cut off is finished or undone first, by which of the two keys the rows name: they change in one commit.
 */
export async function loadVaultKey(database: Database, keyFile: string): Promise<{ key: VaultKey; text: string }> {
  const sealed = await countSealed(database)
  const next = await readKeyFile(nextKeyFile(keyFile))
  if (next) {
    if (sealed.has(createVaultKey(next).id)) await replaceKeyFile(keyFile, nextKeyFile(keyFile))
    else await removeKeyFile(nextKeyFile(keyFile))
  }
  const bytes = (await readKeyFile(keyFile)) ?? (await makeWhereNothingIsSealed(keyFile, sealed))
  return { key: createVaultKey(bytes), text: bytes.toString('hex') }
}

/** How many secrets each key holds, by the key's id. */
async function countSealed(database: Database): Promise<Map<string, number>> {
  const rows = await database.read
    .selectFrom('secrets')
    .select(['key_id', (count) => count.fn.countAll<number>().as('secrets')])
    .groupBy('key_id')
    .execute()
  return new Map(rows.map(({ key_id, secrets }) => [key_id, Number(secrets)]))
}

/** A new key in the place of a lost one would make a passing mishap, such as a disk that is not mounted, a lasting one. */
async function makeWhereNothingIsSealed(keyFile: string, sealed: ReadonlyMap<string, number>): Promise<Buffer> {
  const count = [...sealed.values()].reduce((sum, secrets) => sum + secrets, 0)
  if (count === 0) return makeKeyFile(keyFile)
  throw new LostKey(
    `The key ${keyFile} is missing, and ${count === 1 ? 'the secret that was' : `the ${count} secrets that were`} sealed with it cannot be read without it. Put the file back, from a backup of it. Where it is lost for good, remove what cannot be read and set it again: familiar secrets rotate-key --discard-lost`,
  )
}

export class LostKey extends FamiliarError {
  constructor(message: string) {
    super('conflict', message)
    this.name = 'LostKey'
  }
}
