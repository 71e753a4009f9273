import type { Json } from '../../protocol/json.ts'
import type { ToolFieldReply } from '../../protocol/tool-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { usageError } from '../command-error.ts'
import { askForSettings } from './ask-for-settings.ts'
import { withTools } from './with-tools.ts'

interface ConfigInput {
  name: string
  settings: string[]
  unset?: string[]
}

/**
 * `familiar tools config NAME [KEY=VALUE…] [KEY…]`: shows the settings of a tool, or sets some. What is secret is never
 * taken from the command line, where every process and the shell's history would see it.
 */
export const configureTool: CommandHandler<ConfigInput> = async (context, input) => {
  const { output } = context
  const fields = (await withTools(context, (tools) => tools.show(input.name))).configuration
  const given = parseSettings(input.settings, fields, input.name)
  const asked = await askForSettings(context, given.asked)
  const values = { ...given.values, ...asked }
  const unset = (input.unset ?? []).map((key) => fieldOf(fields, key, input.name).key)
  const config = await withTools(context, async (tools) => {
    if (Object.keys(values).length > 0) await tools.setConfig(input.name, values)
    for (const key of unset) await tools.unset(input.name, key)
    return tools.config(input.name)
  })
  if (input.json) output.printJson({ config })
  else printConfig(context, { name: input.name, fields, config })
  return undefined
}

function parseSettings(
  words: readonly string[],
  fields: readonly ToolFieldReply[],
  tool: string,
): { values: Record<string, Json>; asked: ToolFieldReply[] } {
  const values: Record<string, Json> = {}
  const asked: ToolFieldReply[] = []
  for (const word of words) {
    const at = word.indexOf('=')
    const field = fieldOf(fields, at < 0 ? word : word.slice(0, at), tool)
    if (at < 0) asked.push(field)
    else if (field.is_secret) {
      const hint = `You are asked for it with: familiar tools config ${tool} ${field.key}`
      throw usageError(`${field.key} is a secret: on the command line others could see it.`, hint)
    } else values[field.key] = word.slice(at + 1)
  }
  return { values, asked }
}

function fieldOf(fields: readonly ToolFieldReply[], key: string, tool: string): ToolFieldReply {
  const field = fields.find((one) => one.key === key)
  if (field) return field
  const known = fields.map((one) => one.key).join(', ')
  throw usageError(
    `${tool} has no setting ${JSON.stringify(key)}.`,
    known === '' ? 'It has none at all.' : `It has: ${known}`,
  )
}

function printConfig(
  { output }: CommandContext,
  { name, fields, config }: { name: string; fields: readonly ToolFieldReply[]; config: Record<string, Json> },
): void {
  if (fields.length === 0) {
    output.print(`${name} has nothing to configure.`)
    return
  }
  const rows = fields.map((field) => {
    const value = config[field.key]
    const isMissing = value === undefined && field.is_required
    const shown = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
    return [field.key, isMissing ? output.style('yellow', 'needed') : shown, field.description]
  })
  output.printTable(rows, { header: ['Setting', 'Value', ''] })
}
