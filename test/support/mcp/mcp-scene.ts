import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { type Logger, silentLogger } from '../../../src/base/logger.ts'
import type { AskModel } from '../../../src/memory/learning/ask-model.ts'
import type { Json } from '../../../src/protocol/messages.ts'
import type { AllowedHost } from '../../../src/security/network/destinations.ts'
import { createRedactor, type Redactor } from '../../../src/security/redactor.ts'
import { createVault, type Vault } from '../../../src/security/vault.ts'
import type { Database } from '../../../src/storage/database.ts'
import { createMediaStore } from '../../../src/storage/media-store.ts'
import { createMcpLogins, type McpLogins } from '../../../src/tools/mcp/login.ts'
import { createMcpTools, type McpTools } from '../../../src/tools/mcp/mcp-tools.ts'
import { inspectServer, type ServerInspection } from '../../../src/tools/mcp/server-link.ts'
import type { McpProgram, McpServerSettings } from '../../../src/tools/mcp/server-program.ts'
import { createMcpApprovals, type McpApprovals } from '../../../src/tools/mcp/tool-listing.ts'
import { createToolRegistry, type ToolRegistry } from '../../../src/tools/registry.ts'
import type { Tool, ToolContext, ToolOutcome } from '../../../src/tools/tool.ts'
import { openTestDatabase } from '../open-test-database.ts'
import { toolContext } from '../tool-context.ts'

/** Servers as the owner could name them, with a real database and a registry. */
export interface McpScene {
  /** Changed in place; `mcp.refresh()` tells of it. */
  servers: Record<string, McpServerSettings>
  mcp: McpTools
  registry: ToolRegistry
  database: Database
  approvals: McpApprovals
  logins: McpLogins
  vault: Vault
  redactor: Redactor
  log: string[]
  progress: Json[]
  inspect(server: string): Promise<ServerInspection>
  /** The effect of `familiar mcp approve`. */
  approve(server: string): Promise<void>
  names(): string[]
  tool(name: string): Tool
  call(name: string, input?: Json, signal?: AbortSignal, said?: Partial<ToolContext>): Promise<ToolOutcome>
  close(): Promise<void>
}

export function sdkServer(): McpProgram {
  return programOf('sdk-server.ts', [])
}

export function askingServer(): McpProgram {
  return programOf('asking-server.ts', [])
}

export function rawServer(mode: string, file = ''): McpProgram {
  return programOf('raw-server.ts', [mode, file])
}

function programOf(file: string, words: readonly string[]): McpProgram {
  const args = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, file), ...words]
  return { command: process.execPath, args, environment: [] }
}

export async function openMcp(
  servers: Record<string, McpServerSettings>,
  options: {
    clock?: Clock
    environment?: Record<string, string>
    allowedHosts?: AllowedHost[]
    callMs?: number
    connectMs?: number
    approved?: boolean
    askModel?: AskModel
  } = {},
): Promise<McpScene> {
  const home = mkdtempSync(join(tmpdir(), 'familiar-mcp-'))
  const clock = options.clock ?? systemClock()
  const database = await openTestDatabase({ directory: home, clock })
  const media = createMediaStore({ database, directory: home, clock })
  const registry = createToolRegistry()
  const approvals = createMcpApprovals({ database, clock })
  const max = { id: 'max', name: 'max', role: 'owner', tier: 'owner', created_at: clock.now() } as const
  await database.write((writer) => writer.insertInto('users').values(max).execute())
  const redactor = createRedactor()
  const vault = createVault({ database, keyFile: join(home, 'key'), clock, redactor })
  const logins = createMcpLogins({ vault, redactor, userId: 'max' })
  const log: string[] = []
  const progress: Json[] = []
  const write = (message: string, fields?: object) => void log.push(`${message} ${JSON.stringify(fields)}`)
  const logger: Logger = { ...silentLogger, info: write, warn: write, error: write }
  const needs = {
    environment: (name: string) => options.environment?.[name],
    workingDirectory: home,
    allowedHosts: () => options.allowedHosts ?? [],
    logins,
    version: '0.0.0',
    clock,
    logger,
  }
  const mcp = createMcpTools({
    ...needs,
    servers: () => servers,
    database,
    registry,
    putMedia: media.put,
    ...(options.askModel && { askModel: options.askModel }),
    limits: { callMs: options.callMs ?? 20_000, connectMs: options.connectMs ?? 20_000 },
  })

  const scene: McpScene = {
    servers,
    mcp,
    registry,
    database,
    approvals,
    logins,
    vault,
    redactor,
    log,
    progress,
    inspect(server) {
      const settings = servers[server]
      if (!settings) throw new Error(`There is no server ${server}`)
      return inspectServer({ ...needs, server, settings, signal: AbortSignal.timeout(20_000) })
    },
    async approve(server) {
      const seen = await scene.inspect(server)
      if (!seen.ok) throw new Error(seen.problem)
      await approvals.approve(server, seen)
      await mcp.refresh()
    },
    names: () => registry.list().map((tool) => tool.definition.name),
    tool(name) {
      const tool = registry.find(name)
      if (!tool) throw new Error(`There is no tool ${name} among ${scene.names().join(', ')}`)
      return tool
    },
    call: (name, input = {}, signal = new AbortController().signal, said = {}) =>
      scene.tool(name).run(input, toolContext({ signal, progress: (data) => void progress.push(data), ...said })),
    async close() {
      await mcp.close()
      await database.close()
      await rm(home, { recursive: true, force: true })
    },
  }
  await mcp.refresh()
  if (options.approved !== false) for (const server of Object.keys(servers)) await scene.approve(server)
  return scene
}
