import { canonicalJson } from '../../base/json.ts'
import type { MediaStore } from '../../sessions/media-store.ts'
import type { Database } from '../../storage/database.ts'
import type { ToolRegistry } from '../registry.ts'
import { createMcpApprovals, type McpApproval } from './approvals.ts'
import type { ConnectNeeds } from './connect-server.ts'
import { describeChanges, fingerprintOf } from './fingerprint.ts'
import { createMcpTool } from './mcp-tool.ts'
import { createServerLink, type LinkLimits, McpFailure, type ServerLink } from './server-link.ts'
import { isProgram, type McpServerSettings } from './server-settings.ts'
import type { ToolListing } from './tool-listing.ts'
import { nameTools } from './tool-name.ts'

interface McpServerStatus {
  name: string
  /** The program with its arguments, or the address. */
  target: string
  /** `changed`: it is not what was approved, and is off until it is approved again. */
  state: 'new' | 'approved' | 'changed' | 'disabled'
  isConnected: boolean
  tools: { name: string; description: string; problem: string | null }[]
  changes: string[]
}

/**
 * Brings the tools of approved servers into the registry. Without the owner's word for its fingerprint no server is even
 * started; one that has changed is off as a whole from the moment that shows. A server starts with its first call.
 */
export interface McpTools {
  /** Reads the configuration and the owner's words again: at the start, after a reload, after `familiar mcp approve`. */
  refresh(): Promise<void>
  servers(): McpServerStatus[]
  /** Ends every server. */
  close(): Promise<void>
}

const usualLimits: LinkLimits = { connectMs: 60_000, callMs: 60_000 }

interface KnownServer {
  settings: McpServerSettings
  approval: McpApproval
  state: McpServerStatus['state']
  tools: McpServerStatus['tools']
  link: ServerLink
}

export function createMcpTools(
  needs: ConnectNeeds & {
    servers: () => Readonly<Record<string, McpServerSettings>>
    database: Database
    registry: Pick<ToolRegistry, 'replace'>
    putMedia: MediaStore['put']
    limits?: LinkLimits
  },
): McpTools {
  const { registry, logger, putMedia, limits = usualLimits } = needs
  const approvals = createMcpApprovals(needs)
  const known = new Map<string, KnownServer>()
  let refreshing = Promise.resolve()

  async function readAll(): Promise<void> {
    const configured = needs.servers()
    for (const name of [...known.keys()].filter((name) => !(name in configured))) {
      registry.replace(sourceOf(name), [])
      await known.get(name)?.link.close()
      known.delete(name)
    }
    for (const [name, settings] of Object.entries(configured).sort(([a], [b]) => (a < b ? -1 : 1))) {
      await readOne(name, settings)
    }
  }

  async function readOne(name: string, settings: McpServerSettings): Promise<void> {
    const approval = await approvals.read(name)
    const before = known.get(name)
    const isSame = before !== undefined && canonicalJson(before.settings) === canonicalJson(settings)
    if (before && !isSame) await before.link.close()
    const state = stateOf(settings, approval)
    const link = isSame ? before.link : linkTo(name, settings)
    known.set(name, { settings, approval, state, link, tools: [] })
    // Whoever is off must not run on: it has been approved for nothing any more.
    if (state !== 'approved' && link.isConnected()) {
      await link.close()
      known.set(name, { settings, approval, state, link: linkTo(name, settings), tools: [] })
    }
    register(name)
  }

  function linkTo(server: string, settings: McpServerSettings): ServerLink {
    return createServerLink({ ...needs, server, settings, limits, onListed: (listing) => compare(server, listing) })
  }

  /** Puts the tools of a server into the registry, or takes them out. */
  function register(server: string): void {
    const entry = known.get(server)
    if (!entry) return
    const { settings, approval, state } = entry
    const named = nameTools(server, approval.tools)
    const tools = named
      .filter(({ problem }) => problem === null && state === 'approved')
      .map(({ tool, name }) =>
        createMcpTool({ server, settings, tool, name, putMedia, call: (call) => callApproved(server, call) }),
      )
    const taken = registry.replace(sourceOf(server), tools)
    entry.tools = named.map(({ tool, name, problem }) => ({
      name,
      description: tool.description ?? '',
      problem: problem ?? (taken.includes(name) ? `Another tool is called ${name} already.` : null),
    }))
    for (const { name, problem } of entry.tools) {
      if (problem !== null) logger.warn('a tool of an MCP server is left out', { server, tool: name, problem })
    }
  }

  /** The owner's word is read before every call, so that taking it back works at once. */
  async function callApproved(server: string, call: Parameters<ServerLink['call']>[0]): ReturnType<ServerLink['call']> {
    const entry = known.get(server)
    const approval = await approvals.read(server)
    if (
      !entry ||
      stateOf(entry.settings, approval) !== 'approved' ||
      approval.fingerprint !== entry.approval.fingerprint
    ) {
      await refresh()
      throw new McpFailure(
        'refused',
        `The MCP server ${server} is not approved any more. See: familiar mcp show ${server}`,
      )
    }
    return await entry.link.call(call)
  }

  async function compare(server: string, listing: ToolListing): Promise<boolean> {
    const entry = known.get(server)
    if (!entry) return false
    const { settings, approval } = entry
    if (listing.ok && fingerprintOf(settings, listing.tools) === approval.fingerprint) return true
    const changes = listing.ok ? describeChanges(approval.tools, listing.tools) : [listing.problem]
    logger.warn('an MCP server has changed and is off until it is approved again', { server, changes })
    entry.state = 'changed'
    entry.approval = { ...approval, isEnabled: false, changes }
    register(server)
    await approvals.disable(server, changes)
    return false
  }

  function refresh(): Promise<void> {
    refreshing = refreshing.then(readAll, readAll)
    return refreshing
  }

  return {
    refresh,
    servers: () =>
      [...known].map(([name, { settings, state, link, tools, approval }]) => ({
        name,
        target: isProgram(settings) ? [settings.command, ...settings.args].join(' ') : settings.url,
        state,
        isConnected: link.isConnected(),
        tools,
        changes: approval.changes,
      })),
    async close() {
      await refreshing.catch(() => undefined)
      await Promise.all([...known.values()].map(({ link }) => link.close()))
    },
  }
}

function stateOf(settings: McpServerSettings, approval: McpApproval): McpServerStatus['state'] {
  if (approval.fingerprint === null) return 'new'
  // The program or address may be another one than the word was given for.
  const isAsApproved = fingerprintOf(settings, approval.tools) === approval.fingerprint
  if (!isAsApproved || approval.changes.length > 0) return 'changed'
  return approval.isEnabled ? 'approved' : 'disabled'
}

function sourceOf(server: string): string {
  return `mcp:${server}`
}
