import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import type { Database } from '../../storage/database.ts'
import { allMigrations } from '../../storage/migrations/all-migrations.ts'
import { openPostgres } from '../../storage/postgres/open-postgres.ts'
import { openSqlite } from '../../storage/sqlite/open-sqlite.ts'
import { findRows } from '../../storage/transfer/find-rows.ts'
import { openPostgresSource } from '../../storage/transfer/open-postgres-source.ts'
import { openSqliteSource } from '../../storage/transfer/open-sqlite-source.ts'
import { progressMigration } from '../../storage/transfer/transfer-progress.ts'
import type { TransferSource } from '../../storage/transfer/transfer-source.ts'
import { CommandError } from '../command-error.ts'
import { type Place, showPlace } from './place.ts'

/** One state of it, to be read only. Refuses what has to be migrated or finished first, since that would change it. */
export async function openSource(place: Place): Promise<TransferSource> {
  const source = await openToRead(place)
  const refusal = refuseSource(source, showPlace(place))
  if (!refusal) return source
  await source.close()
  throw refusal
}

/** Refuses one that holds anything but what an earlier run of the same move has left there. */
export async function openTarget(place: Place): Promise<Database> {
  await refuseUsed(place)
  const options = { clock: systemClock(), migrations: [...allMigrations, progressMigration] }
  if (place.engine === 'postgres') return await openPostgres({ ...options, url: place.url })
  const snapshotDirectory = place.home ? homePaths(place.home).backups : dirname(place.path)
  return await openSqlite({ ...options, path: place.path, snapshotDirectory })
}

async function openToRead(place: Place): Promise<TransferSource> {
  return await (place.engine === 'postgres' ? openPostgresSource(place.url) : openSqliteSource(place.path))
}

function refuseSource(source: TransferSource, shown: string): CommandError | undefined {
  if (source.isEmpty) return new CommandError(`There is no Familiar database in ${shown}.`, { code: 'not_found' })
  if (source.isUnfinished) {
    return new CommandError(`${shown} is what an interrupted migrate left; it is not whole.`, {
      code: 'conflict',
      hint: 'Run the command that began it again: it goes on where it was.',
    })
  }
  if (source.pending.length === 0) return undefined
  return new CommandError(`${shown} is of an earlier version of Familiar (without ${source.pending.join(', ')}).`, {
    code: 'conflict',
    hint: 'Bring it up to date by using it once, then try again: familiar status',
  })
}

async function refuseUsed(place: Place): Promise<void> {
  if (place.engine === 'sqlite' && !existsSync(place.path)) return
  const found = await openToRead(place)
  try {
    const used = found.isEmpty || found.isUnfinished ? undefined : await findRows(found)
    if (used === undefined) return
    throw new CommandError(`${showPlace(place)} is not empty: there are rows in ${used}. Nothing was changed.`, {
      code: 'conflict',
      hint:
        place.engine === 'postgres'
          ? 'Name a database that is empty: createdb NAME'
          : `Name another file, or move this one away: mv ${place.path} ${place.path}.before`,
    })
  } finally {
    await found.close()
  }
}
