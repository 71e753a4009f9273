import { join } from 'node:path'
import type { Conversations } from '../agent/conversations.ts'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { createWakeups } from '../base/wakeups.ts'
import type { SandboxProxy } from '../egress/sandbox-proxy.ts'
import type { Embedder } from '../memory/embedding/embedder.ts'
import type { Models } from '../models/models.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Redactor } from '../secrets/redactor.ts'
import type { Vault } from '../secrets/vault.ts'
import type { SharedPlace } from '../storage/blobs/shared-place.ts'
import type { Database } from '../storage/database.ts'
import { createAfterFailure } from '../tools/capabilities/after-failure.ts'
import { createAnswerBuild } from '../tools/capabilities/builder/answer-build.ts'
import { builderPrompt } from '../tools/capabilities/builder/builder-prompt.ts'
import { createBuilderTools } from '../tools/capabilities/builder/create-builder-tools.ts'
import type { OnBuildStep } from '../tools/capabilities/builds/build-step.ts'
import { createBuilds } from '../tools/capabilities/builds/create-builds.ts'
import type { Capabilities } from '../tools/capabilities/capabilities.ts'
import { createCapabilityPrompt } from '../tools/capabilities/capability-lines.ts'
import { createCapabilityShelf } from '../tools/capabilities/capability-shelf.ts'
import { createCapabilityCatalog } from '../tools/capabilities/catalog/create-catalog.ts'
import { createCapabilitySearch } from '../tools/capabilities/catalog/create-search.ts'
import { createCapabilities } from '../tools/capabilities/create-capabilities.ts'
import { createCapabilityExecutor } from '../tools/capabilities/execute/create-capability-executor.ts'
import { createCapabilityGate } from '../tools/capabilities/gate/create-capability-gate.ts'
import { createCapabilityRepairs } from '../tools/capabilities/repair-capability.ts'
import { createCapabilityRuns } from '../tools/capabilities/run-capability.ts'
import { createCapabilityFolders } from '../tools/capabilities/share/create-capability-folders.ts'
import { createCapabilityTools } from '../tools/capabilities/tools/capability-tools.ts'
import { createVersionStore } from '../tools/capabilities/versions/version-store.ts'
import type { PythonPackages } from '../tools/packages/python-packages.ts'
import { createToolRegistry, type ToolRegistry } from '../tools/registry.ts'
import type { Tool } from '../tools/tool.ts'
import type { ToolAudit } from '../tools/tool-audit.ts'
import { createBuildWork } from './build-work.ts'
import type { Config } from './config/config.ts'
import { declaredDestinations } from './declared-destinations.ts'
import type { HomePaths } from './home-paths.ts'
import type { CapabilityRoles } from './roles.ts'

export interface OpenCapabilities {
  capabilities: Capabilities
  roles: CapabilityRoles
  /** Reads what there is. Before the conversations recover, whose turns may call them. */
  start(): Promise<void>
  /** Takes up the builds that an earlier run left. After the conversations recovered. */
  recover(): Promise<void>
  /** After the conversations, before the sandbox and the database. */
  close(): Promise<void>
}

/** The tools that Familiar builds itself, wired. */
export function openCapabilities(dependencies: {
  config: () => Config
  paths: HomePaths
  registry: ToolRegistry
  /** Done to every tool of the Builder, as to every other one. */
  prepareTool(tool: Tool): Tool
  conversations: Conversations
  models: Models
  embedder: Embedder | undefined
  sandbox: Sandbox
  proxy: Pick<SandboxProxy, 'open'>
  packages: PythonPackages
  vault: Vault
  redactor: Redactor
  audit: ToolAudit
  database: Database
  clock: Clock
  ids: Ids
  logger: Logger
  /** Where other daemons find the versions, and this one theirs. */
  shared?: SharedPlace | undefined
  onStep?: OnBuildStep
}): OpenCapabilities {
  const { config, paths, registry, models, sandbox, vault, audit, logger } = dependencies
  const isEnabled = () => config().tools.enabled
  const versions = createVersionStore({ directory: paths.capabilities, shared: dependencies.shared?.capabilities })
  const catalog = createCapabilityCatalog({ ...dependencies, versions })
  const search = createCapabilitySearch({ ...dependencies, catalog })
  const executor = createCapabilityExecutor(dependencies)
  const gate = createCapabilityGate({ ...dependencies, executor, catalog, directory: join(paths.cache, 'gate') })
  const runs = createCapabilityRuns({ ...dependencies, catalog, executor, isEnabled })
  const builds = createBuilds({
    ...dependencies,
    catalog,
    work: createBuildWork(dependencies),
    wakeups: createWakeups(),
    lifeMs: () => config().capabilities.buildMinutes * 60_000,
  })
  const repairs = createCapabilityRepairs({ ...dependencies, catalog, builds })
  const whyNot = () => whyNothingIsBuilt(models, sandbox)
  const prompt = createCapabilityPrompt(catalog)
  const mode = () => config().capabilities.repair
  const afterFailure = createAfterFailure({ repairs, mode, whyNot })
  registry.addShelf(createCapabilityShelf({ catalog, runs, afterFailure }))
  const tools = createCapabilityTools({ catalog, search, builds, runs, repairs, afterFailure, whyNot })
  for (const tool of [...tools, createAnswerBuild({ builds })]) registry.add(tool)
  const builderTools = createBuilderTools({
    ...dependencies,
    builds,
    gate,
    executor,
    directory: join(paths.cache, 'drafts'),
    destinations: () => declaredDestinations(config()),
  })
  const folders = createCapabilityFolders({ catalog, gate })
  const parts = { catalog, search, builds, runs, folders, repairs, audit, vault, whyNot }

  return {
    capabilities: createCapabilities(parts),
    roles: {
      builder: {
        // Core: there are seven, and the Builder has no other way to find them.
        tools: createToolRegistry(builderTools.map(toCore), isEnabled, dependencies.prepareTool),
        system: [{ name: 'builder', tier: 'stable', text: builderPrompt }],
        maxRounds: () => config().capabilities.maxRounds,
      },
      lines: prompt.lines,
      search: search.search,
      async news({ userId, id }) {
        const { lines, builds: told, isUntrusted } = await builds.news({ userId, sessionId: id })
        if (lines.length === 0) return undefined
        return { lines, isUntrusted, onTold: (writer) => builds.markToldIn(writer, told) }
      },
      onBuilderEnded(session, { outcome, text }) {
        const why = { isStopped: outcome === 'stopped', reason: text }
        void builds.ended(session.contact, why).catch((error: unknown) => {
          logger.error('the end of a build was not written; it is at the next start', { build: session.contact, error })
        })
      },
    },
    async start() {
      await catalog.start()
      // Whoever searches before it is done waits for it; nothing else needs it.
      void search.start().catch((error: unknown) => logger.warn('capabilities are not indexed yet', { error }))
    },
    recover: builds.recover,
    async close() {
      prompt.close()
      await builds.close()
      await search.close()
    },
  }
}

function toCore(tool: Tool): Tool {
  return { ...tool, core: true }
}

async function whyNothingIsBuilt(models: Models, sandbox: Sandbox): Promise<string | undefined> {
  if (models.route('builder').every((model) => model.info.offline)) {
    return 'no language model is configured. familiar setup adds one.'
  }
  const { driver } = await sandbox.status()
  return driver === null ? 'no sandbox works on this machine. familiar doctor tells what is missing.' : undefined
}
