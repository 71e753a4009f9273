import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { type Logger, silentLogger } from '../../../src/base/logger.ts'
import { createGuardedFetch, type GuardedFetch } from '../../../src/egress/guarded-fetch.ts'
import type { Json } from '../../../src/protocol/json.ts'
import { createMediaStore } from '../../../src/sessions/media-store.ts'
import type { Database } from '../../../src/storage/database.ts'
import { createMcpApprovals, type McpApprovals } from '../../../src/tools/mcp/approvals.ts'
import { type Inspection, inspectServer } from '../../../src/tools/mcp/inspect-server.ts'
import { createMcpTools, type McpTools } from '../../../src/tools/mcp/mcp-tools.ts'
import type { McpProgram, McpServerSettings } from '../../../src/tools/mcp/server-settings.ts'
import { createToolRegistry, type ToolRegistry } from '../../../src/tools/registry.ts'
import type { Tool, ToolOutcome } from '../../../src/tools/tool.ts'
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
  log: string[]
  progress: Json[]
  inspect(server: string): Promise<Inspection>
  /** What `familiar mcp approve` does. */
  approve(server: string): Promise<void>
  names(): string[]
  tool(name: string): Tool
  call(name: string, input?: Json, signal?: AbortSignal): Promise<ToolOutcome>
  close(): Promise<void>
}

export function sdkServer(): McpProgram {
  return programOf('sdk-server.ts', [])
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
    fetch?: GuardedFetch
    callMs?: number
    connectMs?: number
    approved?: boolean
  } = {},
): Promise<McpScene> {
  const home = mkdtempSync(join(tmpdir(), 'familiar-mcp-'))
  const clock = options.clock ?? systemClock()
  const database = await openTestDatabase({ directory: home, clock })
  const media = createMediaStore({ database, directory: home, clock })
  const registry = createToolRegistry()
  const approvals = createMcpApprovals({ database, clock })
  const log: string[] = []
  const progress: Json[] = []
  const write = (message: string, fields?: object) => void log.push(`${message} ${JSON.stringify(fields)}`)
  const logger: Logger = { ...silentLogger, info: write, warn: write, error: write }
  const fetch = options.fetch ?? createGuardedFetch({ streaming: true })
  const needs = {
    environment: (name: string) => options.environment?.[name],
    workingDirectory: home,
    fetch,
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
    limits: { callMs: options.callMs ?? 20_000, connectMs: options.connectMs ?? 20_000 },
  })

  const scene: McpScene = {
    servers,
    mcp,
    registry,
    database,
    approvals,
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
    call: (name, input = {}, signal = new AbortController().signal) =>
      scene.tool(name).run(input, toolContext({ signal, progress: (data) => void progress.push(data) })),
    async close() {
      await mcp.close()
      await fetch.close()
      await database.close()
      await rm(home, { recursive: true, force: true })
    },
  }
  await mcp.refresh()
  if (options.approved !== false) for (const server of Object.keys(servers)) await scene.approve(server)
  return scene
}
