import type { Command } from 'commander'
import { handlers } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

const name = 'name of a server in familiar.toml'

/** `familiar mcp …`: the owner's word for servers of the Model Context Protocol, given on this machine alone. */
export function addMcpCommands(program: Command, define: DefineCommand): Command {
  const mcp = program.command('mcp').description('MCP servers: what they bring, and your word for them')
  define('list', 'the servers of the configuration', handlers.mcpList, mcp)
  define('show', 'start a server and show what it brings', handlers.mcpShow, mcp).argument('<name>', name)
  define('approve', 'show a server and let its tools be used', handlers.mcpApprove, mcp)
    .argument('<name>', name)
    .option('-y, --yes', 'do not ask')
  define('disable', 'have a server no longer used', handlers.mcpDisable, mcp).argument('<name>', name)
  return mcp
}
