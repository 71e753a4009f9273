import { systemClock } from '../../base/clock.ts'
import { type Logger, silentLogger } from '../../base/logger.ts'
import { homePaths, keyFileOf } from '../../daemon/home-paths.ts'
import { mcp } from '../../protocol/tools.ts'
import { createRedactor } from '../../security/redactor.ts'
import { createVault } from '../../security/vault.ts'
import type { Database } from '../../storage/database.ts'
import { createMcpLogins } from '../../tools/mcp/login.ts'
import type { ServerInspection } from '../../tools/mcp/server-link.ts'
import { isProgram, type McpServerSettings } from '../../tools/mcp/server-program.ts'
import { createMcpApprovals, describeChanges, nameTools, serverFingerprint } from '../../tools/mcp/tool-listing.ts'
import { type CommandContext, CommandError, type CommandHandler, confirm } from '../command.ts'
import { type ApiClient, withFamiliar } from '../connect.ts'
import { requireConfig } from '../local-home.ts'
import { withDatabase } from '../open-beside.ts'

/** The configured servers and their approvals. Starts none of them. */
export const listServers: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const servers = await withMcp(context, ({ servers, approvals }) =>
    Promise.all(
      Object.entries(servers).map(async ([name, settings]) => {
        const { isEnabled, fingerprint, tools, changes, needsLogin } = await approvals.read(name)
        const isSame = fingerprint === serverFingerprint(settings, tools)
        const state = stateOf({ isNew: fingerprint === null, isEnabled, isChanged: !isSame || changes.length > 0 })
        return { name, state, tools: tools.length, target: targetOf(settings), changes, needs_login: needsLogin }
      }),
    ),
  )
  const waiting = servers.find(({ state }) => state === 'new' || state === 'changed')
  const notes = servers.flatMap(({ name, needs_login }) =>
    needs_login ? [`${name} needs login: run \`${output.commandLine(`mcp login ${name}`)}\``] : [],
  )
  if (waiting) notes.push(`To review and approve it: ${output.commandLine(`mcp approve ${waiting.name}`)}`)
  return output.report(
    input.json,
    { servers },
    {
      empty: `No MCP servers. ${noServers}`,
      header: ['Server', 'State', 'Tools', 'Program or address'],
      rows: servers.map(({ name, state, tools, target, needs_login }) => [
        name,
        needs_login ? `${state}, needs login` : state,
        String(tools),
        target,
      ]),
      note: notes.join('\n'),
    },
  )
}

function stateOf({ isNew, isEnabled, isChanged }: { isNew: boolean; isEnabled: boolean; isChanged: boolean }): string {
  if (isNew) return 'new'
  if (isChanged) return 'changed'
  return isEnabled ? 'approved' : 'disabled'
}

function targetOf(settings: McpServerSettings): string {
  return isProgram(settings) ? [settings.command, ...settings.args].join(' ') : settings.url
}

const inspectMs = 60_000
const maxLines = 5

/** The configured servers and their approvals, on this machine only: no route of the API does this (SEC-4). */
export type LocalMcp = Awaited<ReturnType<typeof openMcp>>

export function withMcp<T>(context: CommandContext, work: (mcp: LocalMcp) => Promise<T>): Promise<T> {
  return withFamiliar(context, async (client) => {
    const loaded = requireConfig(context)
    return withDatabase(context, async (database) => work(await openMcp(context, client, loaded, database)))
  })
}

async function openMcp(
  { homePath, signal }: CommandContext,
  client: ApiClient,
  { config, environment }: ReturnType<typeof requireConfig>,
  database: Database,
) {
  const clock = systemClock()
  const paths = homePaths(homePath)
  const { servers } = config.mcp
  /** Hosts of the owner's network that the configuration lists. */
  const { allowedHosts } = config.egress
  const approvals = createMcpApprovals({ database, clock })
  // The key of the vault does not change while this runs: that needs the lock that Familiar holds.
  const redactor = createRedactor()
  const vault = createVault({ database, keyFile: keyFileOf(config, paths), clock, redactor })
  // The running Familiar has created the owner.
  const owner = database.read.selectFrom('users').select('id').where('role', '=', 'owner')
  const logins = createMcpLogins({ vault, redactor, userId: (await owner.executeTakeFirstOrThrow()).id })

  function settingsOf(server: string): McpServerSettings {
    const settings = servers[server]
    if (settings) return settings
    const known = Object.keys(servers)
    throw new CommandError(`There is no MCP server ${JSON.stringify(server)} in the configuration.`, {
      code: 'not_found',
      hint: known.length > 0 ? `Servers: ${known.join(', ')}` : noServers,
    })
  }

  /** Starts a server to read its tools. Throws if it is not configured or cannot be used. */
  async function inspect(server: string): Promise<Seen> {
    const settings = settingsOf(server)
    const { inspectServer } = await import('../../tools/mcp/server-link.ts')
    const { version } = await import('../../daemon/home-paths.ts')
    const lines: string[] = []
    const info: Logger['info'] = (_message, fields) => {
      if (typeof fields?.line === 'string') lines.push(fields.line)
    }
    const seen = await inspectServer({
      server,
      settings,
      environment: (name) => environment[name],
      workingDirectory: paths.workspace,
      allowedHosts: () => allowedHosts,
      logins,
      version,
      clock,
      logger: { ...silentLogger, info },
      signal: AbortSignal.any([signal, AbortSignal.timeout(inspectMs)]),
    })
    if (seen.ok) return seen
    if (seen.needsLogin) await approvals.note(server, { needsLogin: true, loginScope: seen.scope ?? '' })
    // The last lines of standard error often explain the failure.
    throw new CommandError(`The MCP server ${server} cannot be used: ${seen.problem}`, {
      code: 'unavailable_server',
      hint: lines.length > 0 ? `Its output:\n  ${lines.slice(-maxLines).join('\n  ')}` : undefined,
    })
  }

  /** Makes a running Familiar read the approvals again. */
  async function tellFamiliar(): Promise<void> {
    await client
      .api(mcp)
      .refresh()
      .catch((error: unknown) => {
        // An older version has no such route and reads the approval at its next start.
        if (!(error instanceof CommandError && error.code === 'not_found')) throw error
      })
  }

  return { servers, approvals, logins, allowedHosts, settingsOf, inspect, tellFamiliar }
}

const noServers = 'Add one to familiar.toml: [mcp.servers.NAME] with command and args, or with url.'

type Seen = Extract<ServerInspection, { ok: true }>

export const showServer: CommandHandler<{ name: string }> = async (context, input) => {
  const { seen, changes, isApproved } = await withMcp(context, (mcp) => lookAt(mcp, input.name))
  return context.output.report(input.json, { name: input.name, is_approved: isApproved, changes, ...seen }, () => {
    describeServer(context, input.name, { seen, changes })
    return isApproved ? 'Approved.' : `To approve it: ${context.output.commandLine(`mcp approve ${input.name}`)}`
  })
}

/** The present state of a server and the changes since its approval. */
async function lookAt(mcp: LocalMcp, name: string): Promise<{ seen: Seen; changes: string[]; isApproved: boolean }> {
  const seen = await mcp.inspect(name)
  const approval = await mcp.approvals.read(name)
  const isApproved = approval.isEnabled && approval.fingerprint === seen.fingerprint
  const isKnown = approval.fingerprint !== null && approval.fingerprint !== seen.fingerprint
  const changes = isKnown ? describeChanges(approval.tools, seen.tools) : []
  return { seen, isApproved, changes: isKnown && changes.length === 0 ? [otherProgram] : changes }
}

const otherProgram = 'its program or address in the configuration is another one'

function describeServer(
  { output }: CommandContext,
  server: string,
  { seen, changes }: { seen: Seen; changes: readonly string[] },
): void {
  output.print(`${output.style('bold', server)} calls itself ${JSON.stringify(seen.serverName)}.`)
  output.print(`Protocol ${seen.protocolVersion}, fingerprint ${seen.fingerprint}`)
  for (const { tool, name, problem } of nameTools(server, seen.tools)) {
    output.print()
    output.print(`${output.style('bold', name)}${problem === null ? '' : ` is not used: ${problem}`}`)
    // Text of a server is indented, so that none of its lines looks like one of ours.
    if (tool.description) output.print(tool.description.replaceAll(/^/gm, '  '))
    output.print(`  arguments: ${JSON.stringify(tool.inputSchema)}`)
    if (tool.annotations) output.print(`  annotations: ${JSON.stringify(tool.annotations)}`)
  }
  const others = [seen.offers.resources ? 'resources' : '', seen.offers.prompts ? 'prompts' : ''].filter(Boolean)
  if (others.length > 0) output.print(`\nIt also has ${others.join(' and ')}, which Familiar can read.`)
  output.print()
  if (changes.length === 0) return
  output.print(output.style('yellow', 'Changed since it was approved:'))
  for (const line of changes) output.print(`  ${line}`)
  output.print()
}

/** Approves a server exactly as it was just shown. */
export const approveServer: CommandHandler<{ name: string; yes?: boolean }> = async (context, input) => {
  const { output } = context
  await withMcp(context, async (mcp) => {
    const { seen, changes } = await lookAt(mcp, input.name)
    if (!input.json) describeServer(context, input.name, { seen, changes })
    const what = seen.tools.length === 1 ? 'this tool' : `these ${seen.tools.length} tools`
    const question = `Let Familiar use ${what} without asking again?`
    if (!input.yes && !(await confirm(context, question))) return output.print('Not approved. Nothing was changed.')
    await mcp.approvals.approve(input.name, seen)
    await mcp.tellFamiliar()
    const { fingerprint, tools } = seen
    const value = { name: input.name, fingerprint, tools: tools.map(({ name }) => name) }
    output.report(input.json, value, `Approved. If ${input.name} changes, it is turned off until you approve it again.`)
  })
  return undefined
}

/** Revokes the approval, also of a server that is no longer configured. */
export const disableServer: CommandHandler<{ name: string }> = async (context, input) => {
  const { output } = context
  await withMcp(context, async (mcp) => {
    await mcp.approvals.disable(input.name)
    await mcp.tellFamiliar()
  })
  return output.report(
    input.json,
    { name: input.name, is_enabled: false },
    `${input.name} is off. To enable it: ${context.output.commandLine(`mcp approve ${input.name}`)}`,
  )
}
