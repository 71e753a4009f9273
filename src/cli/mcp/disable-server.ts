import type { CommandHandler } from '../command.ts'
import { withMcp } from './with-mcp.ts'

/** Takes the owner's word back. Also for a server that is not configured any more. */
export const disableServer: CommandHandler<{ name: string }> = async (context, input) => {
  const { output } = context
  await withMcp(context, async (mcp) => {
    await mcp.approvals.disable(input.name)
    await mcp.tellFamiliar()
  })
  if (input.json) output.printJson({ name: input.name, is_enabled: false })
  else output.print(`${input.name} is off. To have it again: familiar mcp approve ${input.name}`)
  return undefined
}
