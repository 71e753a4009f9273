import { type Command, Option } from 'commander'
import { handlers } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

const name = 'name of a server in familiar.toml'

/**
 * `familiar mcp` serves Familiar to MCP clients; `familiar mcp …` is the owner's word for servers of the Model Context
 * Protocol, given on this machine alone.
 */
export function addMcpCommands(_program: Command, define: DefineCommand): Command {
  const mcp = define('mcp', 'serve MCP clients on standard input and output; or: MCP servers', handlers.mcpServe)
    .addOption(
      new Option('--scope <scope>', 'what the client may do').choices(['read', 'chat', 'owner']).default('owner'),
    )
    .addHelpText('after', examples)
  define('list', 'the servers of the configuration', handlers.mcpList, mcp)
  define('show', 'start a server and show what it brings', handlers.mcpShow, mcp).argument('<name>', name)
  define('approve', 'show a server and let its tools be used', handlers.mcpApprove, mcp)
    .argument('<name>', name)
    .option('-y, --yes', 'do not ask')
  define('disable', 'have a server no longer used', handlers.mcpDisable, mcp).argument('<name>', name)
  return mcp
}

const examples = `
Examples:
  claude mcp add familiar -- familiar mcp               Claude Code
  familiar mcp --scope read                             a client that may only look`
