import { resolve } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { plural } from '../../base/format.ts'
import { openHome } from '../../daemon/home.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { applyImport } from '../../daemon/import/apply-import.ts'
import type { ImportKind, ImportPlan } from '../../daemon/import/import-plan.ts'
import { planImport } from '../../daemon/import/plan-import.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError, usageError } from '../command-error.ts'
import { confirm } from '../confirm.ts'
import { withMemory } from '../memory/with-memory.ts'
import { planReply, printLeftOut, printPlan } from './show-plan.ts'

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
    else output.note('There is nothing to do.')
    return undefined
  }
  if (!input.yes && !(await confirm(context, `Bring this into ${homePath}?`))) {
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
  if ((await indexMemory(context)) === undefined) output.note('They are indexed when Familiar runs next.')
  for (const { name } of plan.skills) output.note(`To look at a skill and use it: familiar skills enable ${name}`)
}

/** How many files of memory are indexed now. Undefined where Familiar cannot start yet: then it is done when it can. */
async function indexMemory(context: CommandContext): Promise<number | undefined> {
  try {
    const { signal } = context
    const report = await withMemory(context, (memory) => memory.sync({ signal, onProgress: () => {} }), {
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
