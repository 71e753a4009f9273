import { relative } from 'node:path'
import { plural } from '../../base/format.ts'
import type { ImportPlan, ImportWay, LeftOut } from '../../daemon/import/import-plan.ts'
import type { Output } from '../output.ts'

const ways: Record<ImportWay, string> = {
  new: '',
  starter: 'in place of the untouched starter',
  beside: 'beside yours, which stays',
  same: 'there already',
}
/** A year of daily notes need not be read line by line. */
const mostShown = 40

export function printPlan(output: Output, plan: ImportPlan): void {
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
      `a skill of ${plural(count, 'file')}, off until you enable it`,
    ]),
  ]
  output.printTable(rows.slice(0, mostShown), { header: ['  What', 'Where in the workspace', ''] })
  if (rows.length > mostShown) output.print(`  … and ${rows.length - mostShown} more (--json shows all)`)
  printLeftOut(output, leftOut, from)
}

export function printLeftOut(output: Output, leftOut: readonly LeftOut[], from = '/'): void {
  if (leftOut.length === 0) return
  output.print(output.style('bold', 'Left out:'))
  output.printTable(leftOut.slice(0, mostShown).map(({ path, reason }) => [`  ${relative(from, path)}`, reason]))
  if (leftOut.length > mostShown) output.print(`  … and ${leftOut.length - mostShown} more (--json shows all)`)
}

/** The plan for a program. What the files say is not in it. */
export function planReply({ kind, from, files, skills, leftOut }: ImportPlan): object {
  return {
    kind,
    from,
    files: files.map(({ from: path, to, way, notes }) => ({ from: path, to, way, notes })),
    skills: skills.map(({ name, from: path, to, files: count }) => ({ name, from: path, to, files: count })),
    left_out: leftOut,
  }
}
