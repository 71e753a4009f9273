import { fingerprintOf } from '../../tools/mcp/fingerprint.ts'
import { isProgram, type McpServerSettings } from '../../tools/mcp/server-settings.ts'
import type { CommandHandler } from '../command.ts'
import { noServers, withMcp } from './with-mcp.ts'

/** The servers of the configuration and what was said of them. Starts none. */
export const listServers: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const servers = await withMcp(context, ({ servers, approvals }) =>
    Promise.all(
      Object.entries(servers).map(async ([name, settings]) => {
        const { isEnabled, fingerprint, tools, changes } = await approvals.read(name)
        const isSame = fingerprint === fingerprintOf(settings, tools)
        const state = stateOf({ isNew: fingerprint === null, isEnabled, isChanged: !isSame || changes.length > 0 })
        return { name, state, tools: tools.length, target: targetOf(settings), changes }
      }),
    ),
  )
  if (input.json) output.printJson({ servers })
  else if (servers.length === 0) output.print(`There are no MCP servers. ${noServers}`)
  else {
    output.printTable(
      servers.map(({ name, state, tools, target }) => [name, state, String(tools), target]),
      { header: ['Server', 'State', 'Tools', 'Program or address'] },
    )
    const waiting = servers.find(({ state }) => state === 'new' || state === 'changed')
    if (waiting) output.note(`To see what one brings, and to approve it: familiar mcp approve ${waiting.name}`)
  }
  return undefined
}

function stateOf(known: { isNew: boolean; isEnabled: boolean; isChanged: boolean }): string {
  if (known.isNew) return 'new'
  if (known.isChanged) return 'changed'
  return known.isEnabled ? 'approved' : 'disabled'
}

function targetOf(settings: McpServerSettings): string {
  return isProgram(settings) ? [settings.command, ...settings.args].join(' ') : settings.url
}
