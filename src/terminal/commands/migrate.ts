import { existsSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { formatCount, plural } from '../../base/text.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { openPostgresSource, openSqliteSource } from '../../fleet/transfer/sources.ts'
import { findRows, type TransferSource } from '../../fleet/transfer/tables.ts'
import { progressMigration, type TransferPhase, transferDatabase } from '../../fleet/transfer/transfer-database.ts'
import { indexMemory } from '../../memory/memories.ts'
import { memoryFromRow } from '../../memory/memory.ts'
import type { Database } from '../../storage/database.ts'
import { allMigrations } from '../../storage/migrations/all-migrations.ts'
import { openPostgres } from '../../storage/postgres/open-postgres.ts'
import { openSqlite } from '../../storage/sqlite/open-sqlite.ts'
import { type CommandContext, CommandError, type CommandHandler, interrupted, usageError } from '../command.ts'
import { lockHome, requireConfig } from '../local-home.ts'

/** Moves the whole database to another engine or file. The source is only read and stays unchanged. */
export const migrate: CommandHandler<{ to: string; from?: string }> = async (context, input) => {
  const { output, homePath } = context
  const to = readPlace(input.to)
  const from = input.from === undefined ? configuredPlace(context) : readPlace(input.from)
  if (isSamePlace(from, to)) {
    throw usageError(`${showPlace(from)} cannot be moved to itself.`, 'Name the source: --from HOME')
  }
  const report = await move(context, from, to)
  const rows = report.tables.reduce((sum, table) => sum + table.rows, 0)
  if (input.json) {
    const { tables, counters, movedBefore: moved_before } = report
    output.printJson({ from: showPlace(from), to: showPlace(to), rows, moved_before, tables, counters })
    return undefined
  }
  output.printTable(
    report.tables.filter((table) => table.rows > 0).map(({ name, rows, checksum }) => [name, String(rows), checksum]),
    { header: ['Table', 'Rows', 'Checksum'] },
  )
  output.print(`${plural(rows, 'row')} of ${showPlace(from)} are in ${showPlace(to)}, equal by checksum.`)
  if (report.movedBefore > 0) output.print(`${formatCount(report.movedBefore)} of them were moved by an earlier run.`)
  for (const line of nextSteps(from, to, homePath)) output.note(line)
  return undefined
}

async function move(context: CommandContext, from: Place, to: Place) {
  const { output, signal } = context
  const progress = showProgress(context)
  await using _homes = await holdHomes([from, to])
  await using ends = new AsyncDisposableStack()
  try {
    const source = ends.adopt(await openSource(from), (opened) => opened.close())
    const target = ends.adopt(await openTarget(to), (opened) => opened.close())
    return await transferDatabase({
      source,
      target,
      indexMemory: (database, writer, row) => indexMemory(database, writer, memoryFromRow(row)),
      onProgress: progress.step,
      signal,
    })
  } catch (error) {
    if (!signal.aborted) throw error
    progress.end()
    output.note('Stopped. Run the command again to continue.')
    throw interrupted()
  } finally {
    progress.end()
  }
}

/** The database in use, unless another one is named. */
function configuredPlace(context: CommandContext): Place {
  const { url } = requireConfig(context).config.database
  return url === null ? homePlace(context.homePath) : readPlace(url)
}

/**
 * Keeps daemons from the homes whose database is read or written. Refuses if one runs. A folder in which Familiar never
 * ran is left as it is.
 */
async function holdHomes(places: readonly Place[]): Promise<AsyncDisposable> {
  const homes = places.flatMap((place) => (place.engine === 'sqlite' && place.home ? [place.home] : []))
  await using held = new AsyncDisposableStack()
  for (const home of new Set(homes)) {
    if (!existsSync(homePaths(home).run)) continue
    held.use(await lockHome(home, howToStop))
  }
  return held.move()
}

function howToStop(pid: number | null): string {
  return `Stop it first${pid === null ? '' : `: kill ${pid}`}. A service: systemctl --user stop familiar.service`
}

/** A place of a database. */
type Place =
  | { engine: 'postgres'; url: string }
  /** `home` if it is the database of a home. */
  | { engine: 'sqlite'; path: string; home: string | undefined }

/** A URL of PostgreSQL, a home, or a file. */
export function readPlace(text: string): Place {
  if (/^postgres(ql)?:\/\//i.test(text)) {
    if (!URL.canParse(text)) throw usageError('This is not a PostgreSQL URL.', 'postgres://user:password@host/name')
    return { engine: 'postgres', url: text }
  }
  if (/^\w+:\/\//.test(text)) throw usageError('A database is a postgres:// URL, a home or a file.')
  const path = resolve(text)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return homePlace(path)
  const home = dirname(path)
  return { engine: 'sqlite', path, home: basename(path) === basename(homePaths(home).database) ? home : undefined }
}

function homePlace(home: string): Place {
  return { engine: 'sqlite', path: homePaths(home).database, home: resolve(home) }
}

/** As it may be shown: without a password. */
export function showPlace(place: Place): string {
  if (place.engine === 'sqlite') return place.path
  const url = new URL(place.url)
  if (url.password) url.password = '***'
  if (url.searchParams.has('password')) url.searchParams.set('password', '***')
  return url.href
}

/** One database under two spellings of its URL is caught later: its tables are not empty. */
export function isSamePlace(one: Place, other: Place): boolean {
  if (one.engine === 'sqlite') return other.engine === 'sqlite' && one.path === other.path
  return other.engine === 'postgres' && one.url === other.url
}

/** The manual steps after the move. */
function nextSteps(from: Place, to: Place, homePath: string): string[] {
  const home = homePaths(to.engine === 'sqlite' && to.home ? to.home : homePath)
  return [
    '',
    ...(to.engine === 'postgres' ? useServer(to, home) : useFile(to, home)),
    '',
    'Not moved, because they are files of the home: key (without it no secret can be read), familiar.toml, .env,',
    'providers.d, workspace, tools, capabilities and media. Copy them if Familiar will run on another machine.',
    `The source is unchanged: ${showPlace(from)}`,
  ]
}

function useServer(to: Place, home: ReturnType<typeof homePaths>): string[] {
  return [
    `From now on: FAMILIAR_DATABASE_URL=${showPlace(to)} in the environment or in ${home.environment},`,
    `or in ${home.config}:`,
    '  [database]',
    `  url = "${showPlace(to)}"`,
    `If several daemons share it: FAMILIAR_KEY_FILE, or the key as "key" in the [shared] directory (now: ${home.key}).`,
  ]
}

function useFile(to: Extract<Place, { engine: 'sqlite' }>, home: ReturnType<typeof homePaths>): string[] {
  const leaveServer = `take FAMILIAR_DATABASE_URL out of the environment and of ${home.environment}, and [database] out of ${home.config}.`
  return to.home
    ? [`From now on: familiar --home ${to.home}. If PostgreSQL was used, ${leaveServer}`]
    : [`To use it: familiar restore ${to.path}, and ${leaveServer}`]
}

/** One state of it, read-only. Refuses a source that must be migrated or finished first: that would change it. */
export async function openSource(place: Place): Promise<TransferSource> {
  const source = await openToRead(place)
  const refusal = refuseSource(source, showPlace(place))
  if (!refusal) return source
  await source.close()
  throw refusal
}

/** Refuses a target with any rows but those of an earlier run of the same move. */
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
    return new CommandError(`${shown} is incomplete: an earlier migration was interrupted.`, {
      code: 'conflict',
      hint: 'Run the same command again to continue it.',
    })
  }
  if (source.pending.length === 0) return undefined
  return new CommandError(`${shown} is of an earlier version of Familiar (without ${source.pending.join(', ')}).`, {
    code: 'conflict',
    hint: 'Update it first by using it once (familiar status), then try again.',
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

const words: Record<TransferPhase, string> = {
  reading: 'Reading the source',
  copying: 'Copying rows',
  indexing: 'Indexing memories',
  checking: 'Checking what was written',
}
const drawnEveryMs = 100

/** A progress line that is redrawn on a terminal; elsewhere one line per ten percent. */
function showProgress({ stderr, output }: Pick<CommandContext, 'stderr' | 'output'>) {
  let drawnAt = Number.NEGATIVE_INFINITY
  let noted = ''
  return {
    step(phase: TransferPhase, done: number, total: number): void {
      const count = total > 0 ? `${formatCount(done)} of ${formatCount(total)}` : formatCount(done)
      if (stderr.isTTY) {
        if (performance.now() - drawnAt < drawnEveryMs && done < total) return
        drawnAt = performance.now()
        stderr.write(`\r\u001b[K${words[phase]}: ${count}`)
        return
      }
      const mark = `${phase} ${total > 0 ? Math.floor((done / total) * 10) : ''}`
      if (mark === noted) return
      noted = mark
      output.note(total > 0 ? `${words[phase]}: ${count}` : words[phase])
    },
    end: () => void (stderr.isTTY && stderr.write('\r\u001b[K')),
  }
}
