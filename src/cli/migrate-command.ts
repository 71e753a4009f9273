import { formatCount, plural } from '../base/format.ts'
import { loadConfig } from '../daemon/config/load-config.ts'
import { indexMemory } from '../memory/memories.ts'
import { memoryFromRow } from '../memory/memory.ts'
import { transferDatabase } from '../storage/transfer/transfer-database.ts'
import type { CommandHandler } from './command.ts'
import { interrupted, usageError } from './command-error.ts'
import { startFailure } from './connect.ts'
import { holdHomes } from './migrate/hold-homes.ts'
import { nextSteps } from './migrate/next-steps.ts'
import { openSource, openTarget } from './migrate/open-places.ts'
import { homePlace, isSamePlace, type Place, readPlace, showPlace } from './migrate/place.ts'
import { showProgress } from './migrate/show-progress.ts'

/** Moves the whole database to another engine or another file. What it is moved from is read only and stays as it is. */
export const migrate: CommandHandler<{ to: string; from?: string }> = async (context, input) => {
  const { output, homePath, env } = context
  const to = readPlace(input.to)
  const from = input.from === undefined ? configuredPlace(homePath, env) : readPlace(input.from)
  if (isSamePlace(from, to)) {
    throw usageError(`${showPlace(from)} would be moved to itself.`, 'Say where it is now: --from HOME')
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
    { header: ['Table', 'Rows', 'Checksum of both ends'] },
  )
  output.print(`${plural(rows, 'row')} of ${showPlace(from)} are in ${showPlace(to)}, equal by checksum.`)
  if (report.movedBefore > 0) output.print(`An earlier run had moved ${formatCount(report.movedBefore)} of them.`)
  for (const line of nextSteps(from, to, homePath)) output.note(line)
  return undefined
}

async function move(context: Parameters<typeof migrate>[0], from: Place, to: Place) {
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
    output.note('Stopped. The same command goes on from here.')
    throw interrupted()
  } finally {
    progress.end()
  }
}

/** What Familiar works with when nothing else is said. */
function configuredPlace(home: string, env: Readonly<Record<string, string | undefined>>): Place {
  const loaded = loadConfig({ home, env })
  if (!loaded.ok) throw startFailure({ ok: false, reason: 'config', problems: loaded.problems }, home)
  const { url } = loaded.config.database
  return url === null ? homePlace(home) : readPlace(url)
}
