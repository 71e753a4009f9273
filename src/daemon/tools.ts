import { join } from 'node:path'
import type { Conversations } from '../agent/conversations.ts'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { createRunChild } from '../base/run-child.ts'
import type { AllowedHost } from '../egress/destination.ts'
import { createGuardedFetch } from '../egress/guarded-fetch.ts'
import { openLoopbackProxy } from '../egress/loopback-proxy.ts'
import { createSandboxProxy } from '../egress/sandbox-proxy.ts'
import type { Embedder } from '../memory/embedding/embedder.ts'
import type { Models } from '../models/models.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { createToolTriggers, type ToolTriggers } from '../scheduler/tool-triggers.ts'
import type { Redactor } from '../secrets/redactor.ts'
import type { Vault } from '../secrets/vault.ts'
import type { MediaStore } from '../sessions/media-store.ts'
import type { SharedPlace } from '../storage/blobs/shared-place.ts'
import type { Database } from '../storage/database.ts'
import { allowedHostOf } from '../tools/builtin/fetches.ts'
import { createOutsideTools } from '../tools/builtin/outside-tools.ts'
import type { OnBuildStep } from '../tools/capabilities/builds/build-step.ts'
import type { Capabilities } from '../tools/capabilities/capabilities.ts'
import { type ClientTelemetry, createClientTelemetry } from '../tools/client-telemetry.ts'
import { createContractTools } from '../tools/contract/create-contract-tools.ts'
import type { ToolCatalog } from '../tools/contract/tool-catalog.ts'
import { createMcpTools, type McpTools } from '../tools/mcp/mcp-tools.ts'
import { createPythonPackages } from '../tools/packages/python-packages.ts'
import { redactTool } from '../tools/redact-tool.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import type { ToolAudit } from '../tools/tool-audit.ts'
import type { Speaker } from '../voice/speaker.ts'
import type { Transcriber } from '../voice/transcriber.ts'
import { openCapabilities } from './capabilities.ts'
import type { Config } from './config/config.ts'
import type { HomePaths } from './home-paths.ts'
import type { Roles } from './roles.ts'
import { openVoice } from './voice.ts'

export interface OpenTools {
  catalog: ToolCatalog
  capabilities: Capabilities
  triggers: ToolTriggers
  telemetry: ClientTelemetry
  mcp: McpTools
  voice: { speaker: Speaker; transcriber: Transcriber }
  /** What the conversations need of tools before they recover. */
  prepare(): Promise<void>
  /** Finds the tools of folders and servers. After the conversations recovered. */
  begin(): Promise<void>
  /** Begins with what runs by itself: builds that were under way, tools with a time of their own. After `begin`. */
  lead(): Promise<void>
  /** After the config was read again. */
  refresh(): Promise<void>
  /** After another daemon has written what the owner decided about tools. */
  readDecisions(): Promise<void>
  /** Before the sandbox and the database. */
  close(): Promise<void>
}

/** The tools that reach out of the conversation, wired: the web, programs, folders, servers, schedules. */
export function openTools(dependencies: {
  config: () => Config
  paths: HomePaths
  registry: ToolRegistry
  sandbox: Sandbox
  vault: Vault
  redactor: Redactor
  audit: ToolAudit
  media: MediaStore
  database: Database
  conversations: Conversations
  models: Models
  embedder: Embedder | undefined
  shared?: SharedPlace | undefined
  useRoles: Roles['use']
  onBuildStep?: OnBuildStep
  ownerId: string
  environment: () => Readonly<Record<string, string>>
  version: string
  clock: Clock
  ids: Ids
  logger: Logger
  timeZone: string
}): OpenTools {
  const { config, paths, registry, sandbox, media, database, clock, logger } = dependencies
  const runChild = createRunChild({ clock })
  const environment = plainEnvironment(dependencies.environment())
  const voice = openVoice({
    config,
    folder: paths.voice,
    runChild,
    searchPath: environment.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    clock,
    logger,
  })
  const outside = createOutsideTools({
    settings: () => config().tools,
    allowedHosts: () => config().egress.allowedHosts,
    openFetch: (allowedHosts) => createGuardedFetch({ allowedHosts }),
    openProxy: () => openLoopbackProxy(),
    sandbox,
    runChild,
    putMedia: media.put,
    voice: voice.local,
    workspace: paths.workspace,
    browserDirectory: paths.browserProfiles,
    environment,
    isRoot: process.getuid?.() === 0,
    clock,
  })
  for (const tool of outside.tools) registry.add(tool)
  const serverFetch = createGuardedFetch({ allowedHosts: serverHosts(config()), streaming: true })
  const telemetry = createClientTelemetry({ database, clock })
  const proxy = createSandboxProxy({
    directory: paths.run,
    logger,
    listedHosts: () => config().egress.allowedHosts,
  })
  const mcp = createMcpTools({
    servers: () => config().mcp.servers,
    environment: (name) => dependencies.environment()[name],
    workingDirectory: paths.workspace,
    fetch: serverFetch,
    version: dependencies.version,
    database,
    registry,
    putMedia: media.put,
    clock,
    logger,
  })
  const packages = createPythonPackages({ directory: join(paths.cache, 'python'), sandbox, proxy })
  const contract = createContractTools({
    ...dependencies,
    packages,
    roots: [
      { path: paths.tools, isPrivate: true },
      ...config().tools.directories.map((path) => ({ path, isPrivate: false })),
    ],
    cacheDirectory: paths.cache,
    isEnabled: () => config().tools.enabled,
    proxy,
    telemetry: telemetry.telemetryFor,
  })
  const opened = openCapabilities({
    ...dependencies,
    packages,
    proxy,
    prepareTool: (tool) => redactTool(tool, dependencies.redactor),
    ...(dependencies.onBuildStep && { onStep: dependencies.onBuildStep }),
  })
  dependencies.useRoles(opened.roles)
  const triggers = createToolTriggers({
    ...dependencies,
    tools: () => (config().tools.enabled ? contract.triggered() : []),
    run: contract.catalog.run,
    show: contract.catalog.show,
  })
  const unfollow = contract.onChange(triggers.refresh)

  return {
    catalog: contract.catalog,
    capabilities: opened.capabilities,
    triggers,
    telemetry,
    mcp,
    voice: { speaker: outside.speaker, transcriber: voice.transcriber },
    prepare: opened.start,
    async begin() {
      await telemetry.start()
      await Promise.all([contract.start(), mcp.refresh()])
    },
    async lead() {
      await opened.recover()
      await triggers.start()
    },
    async refresh() {
      await mcp.refresh()
      triggers.refresh()
    },
    async readDecisions() {
      await Promise.all([contract.start(), mcp.refresh()])
    },
    async close() {
      unfollow()
      await opened.close()
      await triggers.close()
      telemetry.close()
      await Promise.all([contract.close(), mcp.close(), outside.close(), voice.close()])
      await Promise.all([proxy.close(), serverFetch.close()])
    },
  }
}

/** A server that the owner named is reached wherever it is, as a model server is. */
function serverHosts({ egress, mcp }: Config): AllowedHost[] {
  const urls = Object.values(mcp.servers).flatMap((server) => ('url' in server ? [new URL(server.url)] : []))
  return [...egress.allowedHosts, ...urls.map(allowedHostOf)]
}

/** What a command on this machine may know of its surroundings: nothing that could be a secret. */
function plainEnvironment(environment: Readonly<Record<string, string>>): Record<string, string> {
  const names = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TERM', 'SHELL', 'TMPDIR']
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])))
}
