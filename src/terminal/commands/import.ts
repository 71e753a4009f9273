import { globSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { formatTime, plural } from '../../base/text.ts'
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
import { type CommandContext, CommandError, type CommandHandler, isConfirmed, usageError } from '../command.ts'
import { withFamiliar } from '../connect.ts'
import { requireHome } from '../local-home.ts'
import type { Output } from '../output.ts'

/** Files that were changed since the import stay. */
export const undoImportRecord: CommandHandler<{ record: string }> = async ({ homePath, output }, input) => {
  const path = resolve(input.record)
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) throw usageError(`There is no file at ${path}.`)
  const record = parseJson(text, importRecordSchema)
  if (!record.ok) throw usageError(`${path} is not a record of an import: ${record.message}`)
  const { removed, kept } = await undoImport(record.value, homePaths(homePath).workspace)
  return output.report(input.json, { removed, kept }, () => {
    output.print(`${plural(removed.length, 'file')} removed.`)
    for (const file of kept) output.note(`${file} has changed since the import and is kept.`)
  })
}

/** The imports whose record is still there, which can be undone. */
export const listImports: CommandHandler<object> = async ({ homePath, output }, input) => {
  const { backups } = homePaths(homePath)
  const names = globSync('import-*.json', { cwd: backups }).sort()
  const imports = names.flatMap((name) => {
    const record = parseJson(readFileSync(join(backups, name), 'utf8'), importRecordSchema)
    if (!record.ok) return []
    const { kind, from, at, written } = record.value
    return [{ record: join(backups, name), kind, from, at, files: written.length }]
  })
  return output.report(
    input.json,
    { imports },
    {
      empty: 'Nothing was imported yet. To import: familiar import openclaw ~/.openclaw',
      header: ['When', 'From', 'Files', 'Record (for import undo)'],
      rows: imports.map(({ record, kind, at, files }) => [formatTime(at), kind, plural(files, 'file'), record]),
    },
  )
}

const ways: Record<ImportWay, string> = {
  new: '',
  starter: 'replaces the unchanged starter file',
  beside: 'next to yours, which stays',
  same: 'already there',
}
/** A year of daily notes need not be read line by line. */
const maxShown = 40

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
  output.printTable(rows.slice(0, maxShown), { header: ['  What', 'Place in the workspace', ''] })
  if (rows.length > maxShown) output.print(`  … and ${rows.length - maxShown} more (--json shows all)`)
  printLeftOut(output, leftOut, from)
}

function printLeftOut(output: Output, leftOut: readonly LeftOut[], from = '/'): void {
  if (leftOut.length === 0) return
  output.print(output.style('bold', 'Skipped:'))
  output.printTable(leftOut.slice(0, maxShown).map(({ path, reason }) => [`  ${relative(from, path)}`, reason]))
  if (leftOut.length > maxShown) output.print(`  … and ${leftOut.length - maxShown} more (--json shows all)`)
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

/** Shows the plan, asks, and imports. With `--json` and without `--yes` it only shows. */
async function runImport(context: CommandContext, kind: ImportKind, input: ImportInput): Promise<undefined> {
  const { output, homePath } = context
  const { workspace } = homePaths(homePath)
  const planning = await planImport({ kind, path: resolve(input.path), workspace })
  if (!planning.ok) throw usageError(planning.problem)
  const { plan } = planning
  if (!input.json) printPlan(output, plan)
  const isEmpty = plan.skills.length === 0 && plan.files.every(({ way }) => way === 'same')
  if (isEmpty || (input.json && !input.yes)) {
    if (input.json) output.printJson({ plan: planReply(plan), done: null })
    else output.note('Nothing to import.')
    return undefined
  }
  if (!(await isConfirmed(context, input, `Import this into ${homePath}?`))) return undefined
  const options = { paths: await requireHome(context), clock: systemClock(), signal: context.signal }
  const { record, recordPath, leftOut } = await applyImport(plan, options)
  if (input.json) {
    const indexed = await indexMemory(context)
    const done = { written: record.written, record: recordPath, left_out: leftOut, indexed_files: indexed ?? null }
    return output.printJson({ plan: planReply(plan), done })
  }
  printLeftOut(output, leftOut)
  output.print(
    `${plural(record.written.length, 'file')} written. To undo it: ${output.commandLine(`import undo ${recordPath}`)}`,
  )
  if ((await indexMemory(context)) === undefined) output.note('They are indexed when Familiar starts.')
  for (const { name } of plan.skills)
    output.note(`To review and enable a skill: ${output.commandLine(`skills enable ${name}`)}`)
  return undefined
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
