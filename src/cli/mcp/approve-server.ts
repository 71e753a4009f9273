import type { CommandHandler } from '../command.ts'
import { confirm } from '../confirm.ts'
import { describeServer, lookAt } from './show-server.ts'
import { withMcp } from './with-mcp.ts'

/** The owner's word for a server, as it was just shown and not otherwise. */
export const approveServer: CommandHandler<{ name: string; yes?: boolean }> = async (context, input) => {
  const { output } = context
  await withMcp(context, async (mcp) => {
    const { seen, changes } = await lookAt(mcp, input.name)
    if (!input.json) describeServer(context, input.name, { seen, changes })
    const question = `Let Familiar use ${seen.tools.length === 1 ? 'this tool' : `these ${seen.tools.length} tools`}?`
    if (!input.yes && !(await confirm(context, question))) {
      output.print('Nothing was approved.')
      return
    }
    await mcp.approvals.approve(input.name, seen)
    await mcp.tellFamiliar()
    const { fingerprint, tools } = seen
    if (input.json) output.printJson({ name: input.name, fingerprint, tools: tools.map(({ name }) => name) })
    else output.print(`Approved. When ${input.name} changes, it is off until you approve it again.`)
  })
  return undefined
}
