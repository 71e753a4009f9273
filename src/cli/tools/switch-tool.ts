import type { CommandContext, CommandHandler } from '../command.ts'
import { withTools } from './with-tools.ts'

/** `familiar tools enable NAME`: also your word for one that has changed since you gave it. */
export const enableTool: CommandHandler<{ name: string }> = (context, input) => switchTool(context, input, true)

export const disableTool: CommandHandler<{ name: string }> = (context, input) => switchTool(context, input, false)

async function switchTool(
  context: CommandContext,
  input: { name: string; json?: boolean },
  isOn: boolean,
): Promise<undefined> {
  const { output } = context
  const tool = await withTools(context, (tools) => tools.setEnabled(input.name, isOn))
  if (input.json) output.printJson(tool)
  else if (!isOn) output.print(`${tool.name} is off. To have it again: familiar tools enable ${tool.name}`)
  else output.print(tool.problem === null ? `${tool.name} is on.` : `${tool.name} is on, but ${tool.problem}`)
  return undefined
}
