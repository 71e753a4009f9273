import { systemClock } from '../../base/clock.ts'
import { type Logger, silentLogger } from '../../base/logger.ts'
import { loadConfig } from '../../daemon/config/load-config.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { createGuardedFetch } from '../../egress/guarded-fetch.ts'
import { mcpServersReplySchema } from '../../protocol/mcp-api.ts'
import { createMcpApprovals, type McpApprovals } from '../../tools/mcp/approvals.ts'
import type { Inspection } from '../../tools/mcp/inspect-server.ts'
import type { McpServerSettings } from '../../tools/mcp/server-settings.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { startFailure, withFamiliar } from '../connect.ts'
import { openBeside } from '../open-beside.ts'

const inspectMs = 60_000
const mostLines = 5

/** The servers of the configuration and the owner's words for them, on this machine alone: no route does this (SEC-4). */
export interface LocalMcp {
  servers: Readonly<Record<string, McpServerSettings>>
  approvals: McpApprovals
  /** Starts a server to see what it brings. A name that is not configured is thrown, and so is one that cannot be used. */
  inspect(server: string): Promise<Extract<Inspection, { ok: true }>>
  /** Familiar reads the words again. */
  tellFamiliar(): Promise<void>
}

export function withMcp<T>(context: CommandContext, work: (mcp: LocalMcp) => Promise<T>): Promise<T> {
  const { homePath: home, env, signal } = context
  return withFamiliar(context, async (client) => {
    const loaded = loadConfig({ home, env })
    if (!loaded.ok) throw startFailure({ ok: false, reason: 'config', problems: loaded.problems }, home)
    const { config, environment } = loaded
    const clock = systemClock()
    const paths = homePaths(home)
    const database = await openBeside(context)
    const fetch = createGuardedFetch({ streaming: true, allowedHosts: config.egress.allowedHosts })
    const { servers } = config.mcp
    try {
      return await work({
        servers,
        approvals: createMcpApprovals({ database, clock }),
        async inspect(server) {
          const settings = servers[server]
          if (!settings) throw unknownServer(server, Object.keys(servers))
          const { inspectServer } = await import('../../tools/mcp/inspect-server.ts')
          const { version } = await import('../../daemon/version.ts')
          const said = createListener()
          const seen = await inspectServer({
            server,
            settings,
            environment: (name) => environment[name],
            workingDirectory: paths.workspace,
            fetch,
            version,
            clock,
            logger: said.logger,
            signal: AbortSignal.any([signal, AbortSignal.timeout(inspectMs)]),
          })
          if (seen.ok) return seen
          throw new CommandError(`The MCP server ${server} cannot be used: ${seen.problem}`, {
            code: 'unavailable_server',
            hint: said.lines().length > 0 ? `It said:\n  ${said.lines().join('\n  ')}` : undefined,
          })
        },
        async tellFamiliar() {
          await client.transport.ask('/mcp/refresh', mcpServersReplySchema, { body: {} }).catch((error: unknown) => {
            // One of an older version knows nothing of servers, and finds the word at its next start.
            if (!(error instanceof CommandError && error.code === 'not_found')) throw error
          })
        },
      })
    } finally {
      await fetch.close()
      await database.close()
    }
  })
}

/** What a server writes to standard error: the last of it is often the reason. */
function createListener(): { logger: Logger; lines(): string[] } {
  const lines: string[] = []
  const info: Logger['info'] = (_message, fields) => {
    if (typeof fields?.line === 'string') lines.push(fields.line)
  }
  return { logger: { ...silentLogger, info }, lines: () => lines.slice(-mostLines) }
}

function unknownServer(server: string, known: readonly string[]): CommandError {
  return new CommandError(`There is no MCP server ${JSON.stringify(server)} in the configuration.`, {
    code: 'not_found',
    hint: known.length > 0 ? `There are: ${known.join(', ')}` : noServers,
  })
}

export const noServers = 'A server is named in familiar.toml: [mcp.servers.NAME] with command and args, or with url.'
