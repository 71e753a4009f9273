import { sql } from 'kysely'
import { systemClock } from '../../base/clock.ts'
import { formatTime, plural } from '../../base/text.ts'
import { loadConfig } from '../../daemon/config/load-config.ts'
import { type HomePaths, keyFileOf } from '../../daemon/home-paths.ts'
import { createRedactor } from '../../security/redactor.ts'
import { createVault } from '../../security/vault.ts'
import type { Database } from '../../storage/database.ts'
import { openSqlite } from '../../storage/sqlite/open-sqlite.ts'
import { type CommandContext, CommandError, type CommandHandler } from '../command.ts'
import { lockHome, requireHome } from '../local-home.ts'
import { databaseUrlOf, hasDatabase, openBeside, withDatabase } from '../open-beside.ts'

/** The names of the stored secrets. Their values are never shown. */
export const listSecrets: CommandHandler<object> = async (context, input) => {
  const secrets = hasDatabase(context) ? await withDatabase(context, readNames) : []
  return context.output.report(
    input.json,
    { secrets },
    {
      empty: 'No secrets stored. To set one for a tool: familiar tools config NAME KEY',
      header: ['Tool', 'Name', 'Changed', 'User'],
      rows: secrets.map(({ owner, name, updated_at, user }) => [owner, name, formatTime(updated_at), user]),
    },
  )
}

/** Seals everything with a new key. Holds the home meanwhile: a daemon would continue sealing with the old one. */
export const rotateKey: CommandHandler<{ discardLost?: boolean }> = async (context, input) => {
  const { homePath, output } = context
  const paths = await requireHome(context)
  await using _held = await lockHome(homePath)
  const clock = systemClock()
  const database =
    databaseUrlOf(context) === null
      ? await openSqlite({ path: paths.database, clock, snapshotDirectory: paths.backups })
      : await openBeside(context)
  try {
    const keyFile = keyFileFor(context, paths)
    await refuseWhileOthersRun(database)
    const vault = createVault({ database, keyFile, clock, redactor: createRedactor() })
    const { sealed, discarded } = await vault.rotateKey({ discardLost: input.discardLost === true })
    return output.report(input.json, { sealed, discarded }, () => {
      output.print(`${plural(sealed, 'secret is', 'secrets are')} encrypted with a new key: ${keyFile}`)
      if (discarded > 0)
        output.print(`${plural(discarded, 'unreadable secret was', 'unreadable secrets were')} deleted.`)
      output.note('Secrets in earlier backups can no longer be decrypted.')
    })
  } finally {
    await database.close()
  }
}

function keyFileFor(context: CommandContext, paths: HomePaths): string {
  const loaded = loadConfig({ home: context.homePath, env: context.env })
  if (loaded.ok) return keyFileOf(loaded.config, paths)
  if (databaseUrlOf(context) === null) return paths.key
  throw new CommandError('The configuration has problems, so the path of the key is unknown.', {
    code: 'config',
    hint: 'See: familiar doctor',
  })
}

/** Other daemons would continue with the old key, and one that starts in the middle would discard the new one. */
async function refuseWhileOthersRun(database: Database): Promise<void> {
  if (database.engine !== 'postgres') return
  const { countLiving } = await import('../../fleet/presence.ts')
  const living = await countLiving(database.read)
  if (living === 0) return
  const who = plural(living, 'daemon uses', 'daemons use')
  throw new CommandError(`${who} the database.`, { code: 'locked', hint: 'Stop all of them first, on every machine.' })
}

async function readNames(database: Database) {
  if (!(await hasSecrets(database))) return []
  const rows = await database.read
    .selectFrom('secrets')
    .innerJoin('users', 'users.id', 'secrets.user_id')
    .select(['secrets.owner', 'secrets.name', 'secrets.updated_at', 'users.name as user'])
    .orderBy('secrets.owner')
    .orderBy('secrets.name')
    .execute()
  return rows.map((row) => ({ ...row, updated_at: new Date(Number(row.updated_at)).toISOString() }))
}

/** A file that no daemon of this version has opened yet has no such table. */
async function hasSecrets(database: Database): Promise<boolean> {
  if (database.engine === 'postgres') return true
  const found = await sql`select 1 from sqlite_master where type = 'table' and name = 'secrets'`.execute(database.read)
  return found.rows.length > 0
}
