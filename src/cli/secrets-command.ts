import { existsSync } from 'node:fs'
import { sql } from 'kysely'
import { systemClock } from '../base/clock.ts'
import { formatTime, plural } from '../base/format.ts'
import { acquireDaemonLock } from '../daemon/daemon-lock.ts'
import { openHome } from '../daemon/home.ts'
import { homePaths } from '../daemon/home-paths.ts'
import { createRedactor } from '../secrets/redactor.ts'
import { createVault } from '../secrets/vault.ts'
import type { Database } from '../storage/database.ts'
import { openSqlite } from '../storage/sqlite/open-sqlite.ts'
import type { CommandHandler } from './command.ts'
import { CommandError } from './command-error.ts'
import { openBeside } from './open-beside.ts'

/** Which secrets are kept, for whom and since when. Their values are never shown. */
export const listSecrets: CommandHandler<object> = async ({ homePath, output }, input) => {
  const { database: path } = homePaths(homePath)
  const secrets = existsSync(path) ? await readNames(path) : []
  if (input.json) {
    output.printJson({ secrets })
    return undefined
  }
  if (secrets.length === 0) {
    output.print('No secrets are kept. A tool that needs one says so: familiar tools config NAME')
    return undefined
  }
  const header = ['Of', 'Name', 'Set', 'User']
  output.printTable(
    secrets.map(({ owner, name, updated_at, user }) => [owner, name, formatTime(updated_at), user]),
    { header },
  )
  return undefined
}

/** Seals everything with a new key. Holds the home meanwhile: a daemon would go on sealing with the old one. */
export const rotateKey: CommandHandler<{ discardLost?: boolean }> = async ({ homePath, output }, input) => {
  const home = await openHome(homePath)
  if (!home.ok) throw new CommandError(home.message, { hint: home.hint })
  const { paths } = home
  const lock = await acquireDaemonLock(homePath)
  if (!lock.ok) {
    throw new CommandError(`Familiar is running on ${homePath}${lock.pid === null ? '' : ` (process ${lock.pid})`}.`, {
      code: 'locked',
      hint: `Stop it first${lock.pid === null ? '.' : `: kill ${lock.pid}`}`,
    })
  }
  try {
    const clock = systemClock()
    const database = await openSqlite({ path: paths.database, clock, snapshotDirectory: paths.backups })
    try {
      const vault = createVault({ database, keyFile: paths.key, clock, redactor: createRedactor() })
      const { sealed, discarded } = await vault.rotateKey({ discardLost: input.discardLost === true })
      if (input.json) output.printJson({ sealed, discarded })
      else {
        output.print(`${plural(sealed, 'secret is', 'secrets are')} sealed with a new key: ${paths.key}`)
        if (discarded > 0)
          output.print(`${plural(discarded, 'that could not be read is', 'that could not be read are')} gone.`)
        output.note('What was sealed with the old key, as in earlier backups, cannot be read any more.')
      }
      return undefined
    } finally {
      await database.close()
    }
  } finally {
    await lock.release()
  }
}

interface ListedSecret {
  owner: string
  name: string
  updated_at: string
  user: string
}

async function readNames(path: string): Promise<ListedSecret[]> {
  const database = openBeside(path)
  try {
    if (!(await hasSecrets(database))) return []
    const rows = await database.read
      .selectFrom('secrets')
      .innerJoin('users', 'users.id', 'secrets.user_id')
      .select(['secrets.owner', 'secrets.name', 'secrets.updated_at', 'users.name as user'])
      .orderBy('secrets.owner')
      .orderBy('secrets.name')
      .execute()
    return rows.map((row) => ({ ...row, updated_at: new Date(Number(row.updated_at)).toISOString() }))
  } finally {
    await database.close()
  }
}

/** A database that no daemon of this version has opened yet has no such table. */
async function hasSecrets(database: Database): Promise<boolean> {
  const found = await sql`select 1 from sqlite_master where type = 'table' and name = 'secrets'`.execute(database.read)
  return found.rows.length > 0
}
