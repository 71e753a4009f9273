import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { untilAborted } from '../base/work.ts'
import type { WatchFolder } from '../memory/files/watch-files.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json } from '../protocol/messages.ts'
import type { ToolCall, ToolDetails, ToolSummary } from '../protocol/tools.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { FetchPictures } from '../security/network/picture-fetch.ts'
import type { SandboxProxy } from '../security/network/sandbox-proxy.ts'
import type { Database } from '../storage/database.ts'
import { type ClientContext, completeContext } from '../tools/client-context.ts'
import {
  builtinSource,
  contractSource,
  type RegisteredTool,
  type ToolAudit,
  type ToolRegistry,
} from '../tools/registry.ts'
import { prepareCommand } from './command.ts'
import { createFolderTool, runAudited } from './custom-tool.ts'
import { callTool, type ToolRun, toolsAreOff, unstartedRun } from './execute.ts'
import { createFolderTools, type FolderTool, type FolderTools, type LoadedFolderTool } from './folder-tools.ts'
import { readTypedHost } from './manifest.ts'
import type { OutputRedactor } from './output.ts'
import type { PythonPackages } from './packages.ts'
import { parameterSchema } from './parameters.ts'
import { createSourceStore, type SourceStore } from './stored-files.ts'
import { approvedState, createToolStates } from './tool-approval.ts'
import { keptKey, type ToolRoot } from './tool-folder.ts'
import { createToolSettings, type ToolVault } from './tool-settings.ts'

/** The catalog of each user (CLIENT-4): tools that the user's plan does not include are invisible. */
export function catalogOfPlan(
  catalog: ToolCatalog,
  allows: (userId: string, toolName: string) => boolean,
): ToolCatalog {
  /** With the same error as for an unknown tool. */
  function require(userId: string, name: string, where = ''): void {
    if (!allows(userId, name)) throw new FamiliarError('not_found', `There is no tool named ${name}${where}.`)
  }
  function guarded<Rest extends unknown[], T>(method: (userId: string, name: string, ...rest: Rest) => Promise<T>) {
    return async (userId: string, name: string, ...rest: Rest): Promise<T> => {
      require(userId, name)
      return method(userId, name, ...rest)
    }
  }
  return {
    ...catalog,
    list: async (userId) => (await catalog.list(userId)).filter(({ name }) => allows(userId, name)),
    show: async (userId, name) => (allows(userId, name) ? catalog.show(userId, name) : undefined),
    async run(request) {
      require(request.userId, request.name, ' in the folders of tools')
      return catalog.run(request)
    },
    config: guarded(catalog.config),
    setConfig: guarded(catalog.setConfig),
    deleteConfig: guarded(catalog.deleteConfig),
    test: guarded(catalog.test),
  }
}

/** Tools that are folders (TOOL-1 to TOOL-13), from the disk to the registry and the catalog. */
export function createContractTools(
  dependencies: Omit<CatalogNeeds, 'folderTools' | 'hold' | 'onReleased'> & {
    /** The home's own first: of two tools with one name, the first root has it. */
    roots: readonly ToolRoot[]
    /** A folder of this program alone, for copies of tools and for packages. */
    cacheDirectory: string
    packages: PythonPackages
    logger: Logger
    watch?: WatchFolder
  },
) {
  const { registry, sandbox, packages, logger, cacheDirectory } = dependencies
  const sources = createSourceStore({ directory: join(cacheDirectory, 'tools') })
  const listeners = new Set<() => void>()
  const folderTools = createFolderTools({
    ...dependencies,
    states: createToolStates(dependencies),
    prepare: (tool) => prepareCommand(tool, { sandbox, sources, packages }),
    isTaken: (name) =>
      registry
        .entries()
        .filter(({ source }) => source !== contractSource)
        .some(({ tool }) => tool.definition.name === name || tool.aliases.includes(name)),
    onChange: publish,
  })
  const catalog = createToolCatalog({ ...dependencies, folderTools, hold: sources.hold, onReleased: prune })
  let pruning: Promise<void> = Promise.resolve()

  function publish(): void {
    // A tool whose code changed stays listed, so that a call is answered with the reason and what to do.
    const offered = preparedTools()
      .filter((entry) => folderTools.whyOff(entry) === undefined || folderTools.isOwnEdit(entry))
      .filter(({ tool }) => tool.manifest.trigger.type === 'on_demand')
    const tools = offered.map(({ name, tool }) =>
      createFolderTool(tool.manifest, {
        allowedHosts: folderTools.state(name)?.hosts ?? [],
        call: (params, { userId, signal }) => catalog.run({ userId, name, params, caller: 'turn', signal }),
      }),
    )
    registry.replace(contractSource, tools)
    prune()
    for (const listener of [...listeners]) listener()
  }

  function preparedTools(): LoadedFolderTool[] {
    return folderTools.loaded().filter(({ staged }) => staged.stage().kind === 'ready')
  }

  function prune(): void {
    const isCurrent = (key: string) => folderTools.loaded().some(({ tool }) => key.startsWith(keptKey(tool.folder)))
    pruning = pruning
      .then(() => sources.prune(isCurrent))
      .catch((error) => logger.warn('old copies of tools could not be removed', { error }))
  }

  return {
    catalog,
    /** Finds the tools, offers them, and follows their folders from then on. Builds continue after it resolves. */
    start: folderTools.reload,
    /** Those that run without being asked and are ready to. */
    triggered: () =>
      preparedTools()
        .filter((entry) => folderTools.whyOff(entry) === undefined)
        .flatMap(toTriggered),
    onChange(listener: () => void): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** When nothing is being looked at or built. */
    settled: folderTools.settled,
    /** Before the sandbox and the database. */
    async close(): Promise<void> {
      listeners.clear()
      await folderTools.close()
      await pruning
    },
  }
}

function toTriggered({ name, tool }: LoadedFolderTool) {
  const { trigger, notifies } = tool.manifest
  if (trigger.type === 'on_demand') return []
  const { type: kind, prompt } = trigger
  const on = kind === 'webhook' ? { kind } : { kind, schedule: trigger.schedule }
  return [{ name, trigger: on, prompt: prompt ?? '', notifiesByDefault: notifies }]
}

const processes = 64
const maxAllowedHosts = 50
const maxRefusedHosts = 20

interface CatalogNeeds {
  registry: ToolRegistry
  folderTools: FolderTools
  isEnabled(): boolean
  sandbox: Sandbox
  proxy: Pick<SandboxProxy, 'open'>
  fetchPictures?: FetchPictures | undefined
  vault: ToolVault
  audit: ToolAudit
  database: Database
  redactor: OutputRedactor
  /** The data of the user's latest client. */
  telemetry?: (userId: string) => Promise<Partial<ClientContext>>
  /** Keeps the copy of a folder for the time of a call. */
  hold: SourceStore['hold']
  onReleased(): void
  clock: Clock
}

interface FolderToolCall {
  userId: string
  name: string
  params: Json
  telemetry?: Partial<ClientContext>
  caller: ToolCall['caller']
  /** For a scheduled or webhook run: the state of the previous run. The tool finds it in `params._state`. */
  state?: Json
  signal: AbortSignal
}

export type ToolCatalog = ReturnType<typeof createToolCatalog>

/**
 * Every tool that there is, with its settings and its past calls: for the command line, the API and the page. An unknown
 * name is undefined or `not_found`; a tool that is broken is listed with its reason.
 */
function createToolCatalog(dependencies: CatalogNeeds) {
  const { registry, folderTools, audit, isEnabled, telemetry = async () => ({}), hold, clock } = dependencies
  const settings = createToolSettings(dependencies)
  const refused = new Map<string, Set<string>>()

  /** Looks at that one alone. A folder cannot take the name of another tool. */
  async function show(userId: string, name: string): Promise<ToolDetails | undefined> {
    await lookAgain(name)
    const other = findOther(name)
    if (other) return switchedOff(describeOther(other))
    const folder = folderTools.find(name)
    return folder && switchedOff(await describeFolder(userId, folder))
  }

  /** Built-in tools and tools of MCP servers. */
  function otherTools(): RegisteredTool[] {
    return registry.entries().filter(({ source }) => source !== contractSource)
  }

  function findOther(name: string): RegisteredTool | undefined {
    return otherTools().find(({ tool }) => tool.definition.name === name)
  }

  function switchedOff(details: ToolDetails): ToolDetails {
    const { name, status } = details
    if (!isEnabled()) {
      const problem = 'Tools are switched off (tools.enabled in the configuration)'
      return status === 'error' ? details : { ...details, status: 'disabled', problem }
    }
    const isRegistered = registry.entries().some(({ tool }) => tool.definition.name === name)
    if (!isRegistered || registry.find(name)) return details
    return { ...details, status: 'disabled', problem: 'Switched off by tools.disabled in the configuration' }
  }

  async function describeFolder(userId: string, entry: FolderTool): Promise<ToolDetails> {
    const { name, directory } = entry
    if (entry.kind === 'wrong') {
      return { ...unknown(name), directory, kind: 'contract', status: 'error', problem: entry.problem }
    }
    const { manifest, notes } = entry.tool
    await entry.staged.checked()
    const why = folderTools.whyOff(entry)
    const state = why === undefined ? await readinessOf(userId, entry) : { status: 'disabled' as const, problem: why }
    return {
      name,
      description: manifest.description,
      version: manifest.version,
      category: manifest.category,
      icon: manifest.icon,
      kind: 'contract',
      trigger: manifest.trigger.type,
      ...state,
      directory,
      parameters: parameterSchema(manifest.parameters),
      configuration: manifest.configuration,
      network: {
        mode: manifest.network.mode,
        declared: manifest.network.hosts,
        allowed: folderTools.state(name)?.hosts ?? [],
      },
      limits: { ...manifest.limits, processes },
      refusedHosts: [...(refused.get(name) ?? [])],
      readsArgument: manifest.input === 'argument',
      notes,
    }
  }

  async function readinessOf(
    userId: string,
    { name, tool, staged }: LoadedFolderTool,
  ): Promise<Pick<ToolSummary, 'status' | 'problem'>> {
    const fields = tool.manifest.configuration
    const stage = staged.stage()
    if (stage.kind === 'lacking') return { status: 'error', problem: stage.problem }
    if (stage.kind !== 'ready') return { status: 'building', problem: null }
    if (fields.length === 0) return { status: 'system', problem: null }
    const { missing } = await settings.read({ userId, tool: name, fields })
    if (missing.length === 0) return { status: 'connected', problem: null }
    return { status: 'available', problem: `needs ${missing.join(', ')}: familiar tools config ${name}` }
  }

  /** A folder that was written a moment ago may not have been read yet. */
  async function lookAgain(name: string): Promise<void> {
    if (!folderTools.find(name) && !findOther(name)) await folderTools.reload()
  }

  /** A tool of a folder, whose settings and switch are the owner's business here. */
  function findFolder(name: string): LoadedFolderTool {
    const entry = folderTools.find(name)
    if (!entry) throw notFound(name)
    if (entry.kind === 'wrong') throw new FamiliarError('conflict', `${name} is broken. ${entry.problem}`)
    return entry
  }

  function isElsewhere(name: string): boolean {
    return !folderTools.find(name) && findOther(name) !== undefined
  }

  async function settingsOf(userId: string, name: string) {
    await lookAgain(name)
    return { userId, tool: name, fields: isElsewhere(name) ? [] : findFolder(name).tool.manifest.configuration }
  }

  async function runFolder(
    { userId, name, params, caller, state, signal, ...call }: FolderToolCall,
    entry: FolderTool | undefined,
  ): Promise<ToolRun> {
    const refuse = (why: string) => unstartedRun(why, 'refused')
    if (isElsewhere(name)) return refuse(`${name} is no tool of a folder: ask for it in a message.`)
    if (!isEnabled() || !entry) return refuse(toolsAreOff)
    if (entry.kind === 'wrong') return refuse(`${name} is broken. ${entry.problem}`)
    const why = folderTools.whyOff(entry)
    const isTrial = caller === 'user' && folderTools.isOwnEdit(entry)
    if (why !== undefined && !isTrial) return refuse(`${name} is off. ${why.replace(/^Off\. /, '')}`)
    const { tool, staged } = entry
    await untilAborted(staged.checked(), signal)
    // A user at the terminal waits for a build; a turn or a schedule does not.
    if (caller === 'user') await untilAborted(staged.settled(), signal)
    const stage = staged.stage()
    if (stage.kind === 'lacking') return refuse(`${name} cannot run here: it ${stage.problem}`)
    if (stage.kind !== 'ready') return refuse(`${name} is still being built. Try again in a moment.`)
    const { manifest, folder } = tool
    const { values, missing } = await settings.read({ userId, tool: name, fields: manifest.configuration })
    if (missing.length > 0) return refuse(`${name} needs ${missing.join(', ')}: familiar tools config ${name}`)
    const known = { ...(await telemetry(userId)), ...call.telemetry }
    // It may have been a while since the first look.
    if (!isEnabled()) return refuse(toolsAreOff)
    const prepared = {
      manifest,
      command: stage.command,
      allowedHosts: folderTools.state(name)?.hosts ?? [],
      params,
      settings: values,
      telemetry: completeContext(known, clock.now()),
      caller,
      state,
      onRefused: (host: string) => noteRefused(name, host),
      signal,
    }
    try {
      const run = await hold(keptKey(folder), () => callTool(prepared, dependencies))
      return why === undefined ? run : { ...run, notes: [...run.notes, `It ran by hand only. ${why}`] }
    } finally {
      dependencies.onReleased()
    }
  }

  /** Newest last. */
  function noteRefused(name: string, host: string): void {
    const hosts = refused.get(name) ?? new Set()
    refused.set(name, hosts)
    hosts.delete(host)
    hosts.add(host)
    for (const oldest of hosts) if (hosts.size > maxRefusedHosts) hosts.delete(oldest)
  }

  return {
    async list(userId: string): Promise<ToolSummary[]> {
      const folders = folderTools.all().map((entry) => describeFolder(userId, entry))
      const details = [...otherTools().map(describeOther), ...(await Promise.all(folders))]
      return details.map(switchedOff).sort((a, b) => (a.name < b.name ? -1 : 1))
    },
    show,
    /** Runs a tool of a folder. Never throws for what the tool does. */
    async run(call: FolderToolCall): Promise<ToolRun> {
      const { userId, name, caller } = call
      await lookAgain(name)
      const entry = folderTools.find(name)
      if (!entry && isEnabled() && !isElsewhere(name)) {
        throw new FamiliarError('not_found', `There is no tool named ${name} in the folders of tools.`)
      }
      return await runAudited({ userId, tool: name, caller }, dependencies, () => runFolder(call, entry))
    },
    /** Secrets are `***`. */
    config: async (userId: string, name: string): Promise<Record<string, Json>> =>
      settings.masked(await settingsOf(userId, name)),
    /** `***` keeps the secret that is set. An unknown key is a `bad_request` that names it, and nothing is written. */
    setConfig: async (userId: string, name: string, values: Record<string, Json>): Promise<void> =>
      settings.write(await settingsOf(userId, name), values),
    deleteConfig: async (userId: string, name: string, key: string): Promise<void> =>
      settings.delete(await settingsOf(userId, name), key),
    /** Whether everything is set that it needs. Runs nothing. */
    async test(userId: string, name: string): Promise<{ ok: boolean; message: string }> {
      const details = await show(userId, name)
      if (!details) throw notFound(name)
      const entry = folderTools.find(name)
      const isEdit = isEnabled() && entry?.kind === 'tool' && folderTools.isOwnEdit(entry)
      const { status, problem } = isEdit ? await readinessOf(userId, entry) : details
      const ok = status === 'system' || status === 'connected'
      return { ok, message: ok ? 'Configuration looks complete' : (problem ?? 'It is still being built') }
    },
    /**
     * Also approves the tool as it is now (SEC-14). A new tool needs an approval only if someone else could have written
     * it, or for this machine's own network. After that every change of its description, parameters, trigger, network,
     * hosts, settings, input, label or code needs a new one. With only the code changed, the owner can still run it by hand.
     */
    async setEnabled(name: string, isOn: boolean): Promise<void> {
      // The approval is for the files as they are now, which may have been written a moment ago.
      await folderTools.reload()
      if (isElsewhere(name)) throw new FamiliarError('bad_request', `${name} is no tool of a folder.`)
      if (!folderTools.find(name)) throw notFound(name)
      await folderTools.decide(name, isOn ? approvedState(findFolder(name).tool) : { isEnabled: false })
    },
    /** In place of what the owner allowed before. Only for the local command line (SEC-4). */
    async allowHosts(name: string, hosts: readonly string[]): Promise<void> {
      await lookAgain(name)
      findFolder(name)
      const read = hosts.map((text) => {
        const host = readTypedHost(text)
        if (host === undefined) throw new FamiliarError('bad_request', `${JSON.stringify(text)} is not a host.`)
        return host
      })
      if (read.length > maxAllowedHosts) throw new FamiliarError('bad_request', `At most ${maxAllowedHosts} hosts.`)
      await folderTools.decide(name, { hosts: [...new Set(read)] })
    },
    /** Looks again at the folders, and at what was decided about them by another process. */
    reload: folderTools.reload,
    calls: (userId: string, query: { tool?: string; limit: number }): Promise<ToolCall[]> => audit.list(userId, query),
  }
}

function describeOther({ tool, source }: RegisteredTool): ToolDetails {
  const isBuiltin = source === builtinSource
  return {
    ...unknown(tool.definition.name),
    description: tool.definition.description,
    kind: isBuiltin ? 'builtin' : 'mcp',
    status: isBuiltin ? 'system' : 'connected',
    parameters: tool.definition.inputSchema,
  }
}

function unknown(name: string): Omit<ToolDetails, 'kind' | 'status'> {
  return {
    name,
    description: '',
    version: null,
    category: null,
    icon: null,
    trigger: 'on_demand',
    problem: null,
    directory: null,
    parameters: {},
    configuration: [],
    network: { mode: 'none', declared: [], allowed: [] },
    limits: null,
    refusedHosts: [],
    readsArgument: false,
    notes: [],
  }
}

function notFound(name: string): FamiliarError {
  return new FamiliarError('not_found', `There is no tool named ${name}.`)
}
