import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { SandboxProxy } from '../../egress/sandbox-proxy.ts'
import type { WatchFolder } from '../../memory/files/watch-folder.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { Database } from '../../storage/database.ts'
import type { PythonPackages } from '../packages/python-packages.ts'
import { createSourceStore } from '../packages/source-store.ts'
import { contractSource, type RegisteredTool, type ToolRegistry } from '../registry.ts'
import type { Tool } from '../tool.ts'
import type { ToolAudit } from '../tool-audit.ts'
import { createContractTool } from './contract-tool.ts'
import { createToolCatalog } from './create-tool-catalog.ts'
import type { ToolRoot } from './folder/find-tool-folders.ts'
import { keptKey } from './folder/kept-key.ts'
import { createFolderTools, type LoadedFolderTool } from './folder-tools.ts'
import { prepareCommand } from './run/prepare-command.ts'
import type { OutputRedactor } from './run/read-output.ts'
import { createFolderToolRuns } from './run-folder-tool.ts'
import type { Telemetry } from './telemetry.ts'
import type { ToolCatalog } from './tool-catalog.ts'
import { createToolSettings, type ToolVault } from './tool-settings.ts'
import { createToolStates } from './tool-states.ts'

export interface ContractTools {
  catalog: ToolCatalog
  /** Finds the tools, offers them, and follows their folders from then on. Builds go on after it resolves. */
  start(): Promise<void>
  /** Those that run without being asked and are ready to. */
  triggered(): TriggeredFolderTool[]
  /** Calls after every change of what there is, until the returned function is called. */
  onChange(listener: () => void): () => void
  /** When nothing is being looked at or built. */
  settled(): Promise<void>
  /** Before the sandbox and the database. */
  close(): Promise<void>
}

interface TriggeredFolderTool {
  name: string
  trigger: { kind: 'cron'; schedule: string } | { kind: 'webhook' }
  /** May be empty. */
  prompt: string
  notifiesByDefault: boolean
}

/** Tools that are folders (TOOL-1 to TOOL-13), from the disk to the registry and the catalog. */
export function createContractTools(dependencies: {
  /** The home's own first: what two of them hold under one name is taken from the first. */
  roots: readonly ToolRoot[]
  /** A folder of this program alone, for copies of tools and for packages. */
  cacheDirectory: string
  registry: ToolRegistry
  /** The switch that stops everything. */
  isEnabled(): boolean
  sandbox: Sandbox
  proxy: Pick<SandboxProxy, 'open'>
  vault: ToolVault
  audit: ToolAudit
  database: Database
  redactor: OutputRedactor
  /** What the client told of itself that the user spoke through last. */
  telemetry?: (userId: string) => Promise<Partial<Telemetry>>
  packages: PythonPackages
  clock: Clock
  logger: Logger
  watch?: WatchFolder
}): ContractTools {
  const { registry, sandbox, packages, database, clock, logger, cacheDirectory } = dependencies
  const sources = createSourceStore({ directory: join(cacheDirectory, 'tools') })
  const settings = createToolSettings(dependencies)
  const listeners = new Set<() => void>()
  const folderTools = createFolderTools({
    ...dependencies,
    states: createToolStates({ database, clock }),
    prepare: (tool) => prepareCommand(tool, { sandbox, sources, packages }),
    isTaken: (name) => registry.entries().some((entry) => entry.source !== contractSource && hasName(entry, name)),
    onChange: publish,
  })
  const runs = createFolderToolRuns({ ...dependencies, folderTools, settings, onReleased: prune })
  const catalog = createToolCatalog({ ...dependencies, folderTools, runs, settings })
  let pruning: Promise<void> = Promise.resolve()

  function publish(): void {
    const offered = readyTools().filter(({ tool }) => tool.manifest.trigger.type === 'on_demand')
    registry.replace(contractSource, offered.map(toTool))
    prune()
    for (const listener of [...listeners]) listener()
  }

  function readyTools(): LoadedFolderTool[] {
    return folderTools
      .all()
      .filter((entry) => entry.kind === 'tool')
      .filter((entry) => entry.staged.stage().kind === 'ready' && folderTools.whyOff(entry) === undefined)
  }

  function toTool({ name, tool }: LoadedFolderTool): Tool {
    const allowed = folderTools.state(name)?.hosts ?? []
    return createContractTool(tool.manifest, {
      hosts: [...new Set([...tool.manifest.network.hosts, ...allowed])],
      call: (params, { userId, signal }) => runs.run({ userId, name, params, caller: 'turn', signal }),
    })
  }

  function prune(): void {
    pruning = pruning
      .then(() => sources.prune((key) => currentKeys().some((current) => key.startsWith(current)) || isRunning(key)))
      .catch((error) => logger.warn('old copies of tools could not be removed', { error }))
  }

  function currentKeys(): string[] {
    return folderTools.all().flatMap((entry) => (entry.kind === 'tool' ? [keptKey(entry.tool.folder)] : []))
  }

  function isRunning(key: string): boolean {
    return runs.isInUse(key.replace(/-[a-z]+$/, ''))
  }

  return {
    catalog,
    start: () => folderTools.reload(),
    triggered: () => readyTools().flatMap(toTriggered),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    settled: () => folderTools.settled(),
    async close() {
      listeners.clear()
      await folderTools.close()
      await pruning
    },
  }
}

function hasName({ tool }: RegisteredTool, name: string): boolean {
  return tool.definition.name === name || tool.aliases.includes(name)
}

function toTriggered({ name, tool }: LoadedFolderTool): TriggeredFolderTool[] {
  const { trigger, notifies } = tool.manifest
  const rest = { name, notifiesByDefault: notifies }
  if (trigger.type === 'on_demand') return []
  if (trigger.type === 'webhook') return [{ ...rest, trigger: { kind: 'webhook' }, prompt: trigger.prompt ?? '' }]
  return [{ ...rest, trigger: { kind: 'cron', schedule: trigger.schedule }, prompt: trigger.prompt }]
}
