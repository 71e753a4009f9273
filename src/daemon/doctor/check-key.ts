import { existsSync } from 'node:fs'
import { plural } from '../../base/format.ts'
import { readKeyFile } from '../../secrets/key-file.ts'
import { createVaultKey } from '../../secrets/vault-key.ts'
import type { Database } from '../../storage/database.ts'
import { type Finding, fail, ok, quoted, reasonOf, warn } from './finding.ts'

const check = 'key of the secrets'

export interface KeyPlaces {
  /** What this daemon uses. */
  keyFile: string
  /** Of the home, which no other daemon sees. */
  homeKey: string
}

/** Whether the daemons that share a database can read what one of them has sealed. */
export async function checkKey(database: Pick<Database, 'read'>, { keyFile, homeKey }: KeyPlaces): Promise<Finding> {
  let key: Buffer | undefined
  try {
    key = await readKeyFile(keyFile)
  } catch (error) {
    return fail(check, reasonOf(error))
  }
  const others = await countSealedOtherwise(database, key && createVaultKey(key).id)
  if (others > 0) {
    const what = plural(others, 'secret is', 'secrets are')
    const isAtHome = !key && keyFile !== homeKey && existsSync(homeKey)
    const mend = isAtHome ? `cp -p ${quoted(homeKey)} ${quoted(keyFile)}` : undefined
    return fail(check, `${what} sealed with another key than that of ${keyFile}, and cannot be read here.`, mend)
  }
  if (keyFile !== homeKey) return ok(check, `${keyFile}, for every daemon that has it`)
  return warn(
    check,
    `${keyFile} is of this home alone: daemons of other homes can read no secret and answer no approval that was sealed here. [shared] directory holds one for all of them.`,
    'FAMILIAR_KEY_FILE=/a/place/that/all/of/them/see in the environment of each',
  )
}

async function countSealedOtherwise({ read }: Pick<Database, 'read'>, keyId: string | undefined): Promise<number> {
  const rows = await read.selectFrom('secrets').select('key_id').execute()
  return rows.filter(({ key_id }) => key_id !== keyId).length
}
