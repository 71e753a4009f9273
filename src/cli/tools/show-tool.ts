import { formatBytes, formatDuration } from '../../base/format.ts'
import type { ToolFieldReply, ToolReply } from '../../protocol/tool-api.ts'
import type { CommandHandler } from '../command.ts'
import { printFields } from '../memory/describe-memory.ts'
import type { Output } from '../output.ts'
import { statusOf } from './list-tools.ts'
import { withTools } from './with-tools.ts'

/** `familiar tools show NAME`: all that there is to know of a tool. */
export const showTool: CommandHandler<{ name: string }> = async (context, input) => {
  const tool = await withTools(context, (tools) => tools.show(input.name))
  if (input.json) context.output.printJson(tool)
  else printTool(context.output, tool)
  return undefined
}

function printTool(output: Output, tool: ToolReply): void {
  const { limits } = tool
  output.print(output.style('bold', [tool.name, tool.version].filter(Boolean).join(' ')))
  if (tool.description) output.print(tool.description)
  output.print()
  printFields(output, [
    ['Status', `${statusOf(output, tool)}${tool.problem ? `: ${tool.problem}` : ''}`],
    ['Kind', tool.kind === 'builtin' ? "Familiar's own" : tool.kind === 'mcp' ? 'of an MCP server' : 'a folder'],
    ['Folder', tool.directory],
    ['Runs', tool.trigger],
    ['Category', tool.category],
    ['Network', tool.kind === 'contract' ? networkOf(tool) : null],
    ['Allowed', tool.network.allowed.join(', ')],
    ['Refused', tool.refused_hosts.length > 0 ? `${tool.refused_hosts.join(', ')} (familiar tools allow)` : null],
    ['Memory', limits && formatBytes(limits.memory_bytes)],
    ['Time', limits && formatDuration(limits.timeout_ms)],
    ['Writes', limits && (limits.is_writable ? 'to /tmp, for as long as it runs' : 'nothing')],
    ['Settings', tool.reads_argument && tool.configuration.length > 0 ? 'reach it in its argument' : null],
  ])
  if (tool.configuration.length > 0) printConfiguration(output, tool.configuration)
  if (tool.kind === 'contract') output.print(`\nParameters: ${JSON.stringify(tool.parameters)}`)
  for (const note of tool.notes) output.print(output.style('dim', `Note: ${note}`))
}

function networkOf({ network: { mode, declared } }: ToolReply): string {
  if (mode === 'none') return 'none'
  if (mode === 'host') return 'that of this machine'
  return declared.length > 0 ? declared.join(', ') : 'nothing, until you allow a host'
}

function printConfiguration(output: Output, fields: readonly ToolFieldReply[]): void {
  output.print('\nSettings:')
  output.printTable(
    fields.map(({ key, is_secret, is_required, description }) => [
      `  ${key}`,
      [is_required ? 'required' : '', is_secret ? 'secret' : ''].filter(Boolean).join(', '),
      description,
    ]),
  )
}
