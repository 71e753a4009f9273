import { oneLine } from '../../base/format.ts'
import type { ToolSummaryReply } from '../../protocol/tool-api.ts'
import type { CommandHandler } from '../command.ts'
import type { Output } from '../output.ts'
import { withTools } from './with-tools.ts'

/** `familiar tools list`: those that you can do something about; with `--all` Familiar's own too. */
export const listTools: CommandHandler<{ all?: boolean }> = async (context, input) => {
  const { output } = context
  const every = await withTools(context, (tools) => tools.list())
  const tools = input.all ? every : every.filter(({ kind }) => kind !== 'builtin')
  if (input.json) output.printJson({ tools })
  else if (tools.length === 0) output.print('There are no tools of your own yet. Begin with: familiar tools new NAME')
  else {
    output.printTable(
      tools.map((tool) => [tool.name, statusOf(output, tool), tool.trigger, oneLine(whatItIs(tool), 200)]),
      { header: ['Tool', 'Status', 'Runs', 'What it is'] },
    )
  }
  const own = every.length - tools.length
  if (!input.json && own > 0) output.note(`${own} of Familiar's own are left out: --all`)
  return undefined
}

export function statusOf(output: Output, { status }: Pick<ToolSummaryReply, 'status'>): string {
  if (status === 'error') return output.style('red', status)
  return status === 'available' || status === 'disabled' ? output.style('yellow', status) : status
}

function whatItIs({ description, problem }: ToolSummaryReply): string {
  return problem ?? description
}
