import { globSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { formatTime, plural } from '../../base/text.ts'
import { openHome } from '../../daemon/home.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import {
  applyImport,
  type ImportKind,
  type ImportPlan,
  type ImportWay,
  importRecordSchema,
  type LeftOut,
  undoImport,
} from '../../daemon/import/apply-import.ts'
import { planImport } from '../../daemon/import/plan-import.ts'
import { roots } from '../../protocol/memory.ts'
import { type CommandContext, CommandError, type CommandHandler, confirm, usageError } from '../command.ts'
import { withFamiliar } from '../connect.ts'
import type { Output } from '../output.ts'

/** `familiar import undo RECORD`: what was changed since stays. */
export const undoImportRecord: CommandHandler<{ record: string }> = async ({ homePath, output }, input) => {
  const path = resolve(input.record)
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) throw usageError(`There is no file at ${path}.`)
  const record = parseJson(text, importRecordSchema)
  if (!record.ok) throw usageError(`${path} is not a record of an import: ${record.message}`)
  const { removed, kept } = await undoImport(record.value, homePaths(homePath).workspace)
  if (input.json) output.printJson({ removed, kept })
  else {
    output.print(`${plural(removed.length, 'file')} removed.`)
    for (const file of kept) output.note(`${file} has changed since the import and is kept.`)
  }
  return undefined
}

/** `familiar import`: the imports whose record is still there, which can be undone. */
export const listImports: CommandHandler<object> = async ({ homePath, output }, input) => {
  const { backups } = homePaths(homePath)
  const names = globSync('import-*.json', { cwd: backups }).sort()
  const imports = names.flatMap((name) => {
    const record = parseJson(readFileSync(join(backups, name), 'utf8'), importRecordSchema)
    if (!record.ok) return []
    const { kind, from, at, written } = record.value
    return [{ record: join(backups, name), kind, from, at, files: written.length }]
  })
  if (input.json) output.printJson({ imports })
  else if (imports.length === 0)
    output.print('Nothing was imported yet. To import: familiar import openclaw ~/.openclaw')
  else {
    output.printTable(
      imports.map(({ record, kind, at, files }) => [formatTime(at), kind, plural(files, 'file'), record]),
      { header: ['When', 'From', 'Files', 'Record (for import undo)'] },
    )
  }
  return undefined
}

const ways: Record<ImportWay, string> = {
  new: '',
  starter: 'replaces the unchanged starter file',
  beside: 'next to yours, which stays',
  same: 'already there',
}
/** A year of daily notes need not be read line by line. */
const mostShown = 40

function printPlan(output: Output, plan: ImportPlan): void {
  const { from, files, skills, leftOut } = plan
  output.print(output.style('bold', `From ${from}:`))
  const rows = [
    ...files.map(({ from: path, to, way, notes }) => [
      `  ${relative(from, path)}`,
      to,
      [ways[way], ...notes].filter(Boolean).join('; '),
    ]),
    ...skills.map(({ from: path, to, files: count }) => [
      `  ${relative(from, path)}`,
      to,
      `skill with ${plural(count, 'file')}, off until you enable it`,
    ]),
  ]
  output.printTable(rows.slice(0, mostShown), { header: ['  What', 'Where in the workspace', ''] })
  if (rows.length > mostShown) output.print(`  … and ${rows.length - mostShown} more (--json shows all)`)
  printLeftOut(output, leftOut, from)
}

function printLeftOut(output: Output, leftOut: readonly LeftOut[], from = '/'): void {
  if (leftOut.length === 0) return
  output.print(output.style('bold', 'Skipped:'))
  output.printTable(leftOut.slice(0, mostShown).map(({ path, reason }) => [`  ${relative(from, path)}`, reason]))
  if (leftOut.length > mostShown) output.print(`  … and ${leftOut.length - mostShown} more (--json shows all)`)
}

/** The plan as JSON, without the content of the files. */
function planReply({ kind, from, files, skills, leftOut }: ImportPlan): object {
  return {
    kind,
    from,
    files: files.map(({ from: path, to, way, notes }) => ({ from: path, to, way, notes })),
    skills: skills.map(({ name, from: path, to, files: count }) => ({ name, from: path, to, files: count })),
    left_out: leftOut,
  }
}

interface ImportInput {
  path: string
  yes?: boolean
  json?: boolean
}

export const importOpenclaw: CommandHandler<ImportInput> = (context, input) => runImport(context, 'openclaw', input)

export const importHermes: CommandHandler<ImportInput> = (context, input) => runImport(context, 'hermes', input)

/** Shows what would be done, asks, and does it. With `--json` and without `--yes` it only shows. */
async function runImport(context: CommandContext, kind: ImportKind, input: ImportInput): Promise<undefined> {
  const { output, homePath } = context
  const { workspace } = homePaths(homePath)
  const planning = await planImport({ kind, path: resolve(input.path), workspace })
  if (!planning.ok) throw usageError(planning.problem)
  const { plan } = planning
  if (!input.json) printPlan(output, plan)
  if (input.json && !input.yes) {
    output.printJson({ plan: planReply(plan), done: null })
    return undefined
  }
  if (isEmpty(plan)) {
    if (input.json) output.printJson({ plan: planReply(plan), done: null })
    else output.note('Nothing to import.')
    return undefined
  }
  if (!input.yes && !(await confirm(context, `Import this into ${homePath}?`))) {
    output.note('Nothing was changed.')
    return undefined
  }
  await doImport(context, plan, input)
  return undefined
}

async function doImport(context: CommandContext, plan: ImportPlan, { json }: ImportInput): Promise<void> {
  const { output, homePath, signal } = context
  const home = await openHome(homePath)
  if (!home.ok) throw new CommandError(home.message, { hint: home.hint })
  const { record, recordPath, leftOut } = await applyImport(plan, { paths: home.paths, clock: systemClock(), signal })
  if (json) {
    const indexed = await indexMemory(context)
    const done = { written: record.written, record: recordPath, left_out: leftOut, indexed_files: indexed ?? null }
    output.printJson({ plan: planReply(plan), done })
    return
  }
  printLeftOut(output, leftOut)
  output.print(`${plural(record.written.length, 'file')} written. To undo it: familiar import undo ${recordPath}`)
  if ((await indexMemory(context)) === undefined) output.note('They are indexed when Familiar starts.')
  for (const { name } of plan.skills) output.note(`To review and enable a skill: familiar skills enable ${name}`)
}

/** How many files of memory are indexed now. Undefined if Familiar cannot start yet: then it is done when it can. */
async function indexMemory(context: CommandContext): Promise<number | undefined> {
  try {
    const watched = { signal: context.signal, onProgress: () => undefined }
    const report = await withFamiliar(context, (client) => client.watch(roots.sync, {}, watched), {
      endsOnAbort: true,
    })
    return report.files
  } catch (error) {
    if (error instanceof CommandError && !context.signal.aborted) return undefined
    throw error
  }
}

function isEmpty({ files, skills }: ImportPlan): boolean {
  return skills.length === 0 && files.every(({ way }) => way === 'same')
}
