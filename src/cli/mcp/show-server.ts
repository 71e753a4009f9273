import { describeChanges } from '../../tools/mcp/fingerprint.ts'
import type { Inspection } from '../../tools/mcp/inspect-server.ts'
import { nameTools } from '../../tools/mcp/tool-name.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { type LocalMcp, withMcp } from './with-mcp.ts'

type Seen = Extract<Inspection, { ok: true }>

/** Starts the server and shows all that the owner's word would be given for. */
export const showServer: CommandHandler<{ name: string }> = async (context, input) => {
  const { seen, changes, isApproved } = await withMcp(context, (mcp) => lookAt(mcp, input.name))
  if (input.json) {
    context.output.printJson({ name: input.name, is_approved: isApproved, changes, ...seen })
    return undefined
  }
  describeServer(context, input.name, { seen, changes })
  context.output.print(isApproved ? 'It is approved as it is.' : `To approve it: familiar mcp approve ${input.name}`)
  return undefined
}

/** What a server is now, and what of it is new since the owner's word. */
export async function lookAt(
  mcp: LocalMcp,
  name: string,
): Promise<{ seen: Seen; changes: string[]; isApproved: boolean }> {
  const seen = await mcp.inspect(name)
  const approval = await mcp.approvals.read(name)
  const isApproved = approval.isEnabled && approval.fingerprint === seen.fingerprint
  const isKnown = approval.fingerprint !== null && approval.fingerprint !== seen.fingerprint
  const changes = isKnown ? describeChanges(approval.tools, seen.tools) : []
  return { seen, isApproved, changes: isKnown && changes.length === 0 ? [otherProgram] : changes }
}

const otherProgram = 'its program or address in the configuration is another one'

export function describeServer(
  { output }: CommandContext,
  server: string,
  { seen, changes }: { seen: Seen; changes: readonly string[] },
): void {
  output.print(`${output.style('bold', server)} calls itself ${JSON.stringify(seen.serverName)}.`)
  output.print(`Protocol ${seen.protocolVersion}, fingerprint ${seen.fingerprint}`)
  for (const { tool, name, problem } of nameTools(server, seen.tools)) {
    output.print()
    output.print(`${output.style('bold', name)}${problem === null ? '' : ` is left out: ${problem}`}`)
    if (tool.description) output.print(indented(tool.description))
    output.print(`  arguments: ${JSON.stringify(tool.inputSchema)}`)
    if (tool.annotations) output.print(`  says of itself: ${JSON.stringify(tool.annotations)}`)
  }
  output.print()
  if (changes.length === 0) return
  output.print(output.style('yellow', 'Changed since it was approved:'))
  for (const line of changes) output.print(`  ${line}`)
  output.print()
}

/** Whatever a server writes stands under its name: none of its lines can pass for one of ours. */
function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
