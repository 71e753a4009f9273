import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { WatchFolder } from '../memory/files/watch-files.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json } from '../protocol/messages.ts'
import type { ToolCall, ToolDetails, ToolSummary } from '../protocol/tools.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { FetchPictures } from '../security/network/picture-fetch.ts'
import type { SandboxProxy } from '../security/network/sandbox-proxy.ts'
import type { Database } from '../storage/database.ts'
import type { ClientContext } from '../tools/client-context.ts'
import {
  builtinSource,
  contractSource,
  type RegisteredTool,
  type ToolAudit,
  type ToolRegistry,
} from '../tools/registry.ts'
import type { Tool, ToolContext, ToolReach } from '../tools/tool.ts'
import { prepareCommand } from './command.ts'
import { createCustomTool, reachOf, toOutcome } from './custom-tool.ts'
import { type ToolRun, unstartedRun } from './execute.ts'
import {
  createFolderToolRuns,
  createFolderTools,
  type FolderTool,
  type FolderToolRuns,
  type FolderTools,
  type LoadedFolderTool,
} from './folder-tools.ts'
import { readTypedHost, type ToolManifest } from './manifest.ts'
import type { OutputRedactor } from './output.ts'
import { createSourceStore, type PythonPackages } from './packages.ts'
import { parameterSchema } from './parameters.ts'
import { approvedState, createToolStates } from './tool-approval.ts'
import { keptKey, type ToolRoot } from './tool-folder.ts'
import { createToolSettings, type ToolSettings, type ToolVault } from './tool-settings.ts'

type ToolStatus = ToolSummary['status']

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
  fetchPictures?: FetchPictures | undefined
  vault: ToolVault
  audit: ToolAudit
  database: Database
  redactor: OutputRedactor
  /** The data of the user's latest client. */
  telemetry?: (userId: string) => Promise<Partial<ClientContext>>
  packages: PythonPackages
  clock: Clock
  logger: Logger
  watch?: WatchFolder
}) {
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
  const runs = createFolderToolRuns({ ...dependencies, folderTools, settings, hold: sources.hold, onReleased: prune })
  const catalog = createToolCatalog({ ...dependencies, folderTools, runs, settings })
  let pruning: Promise<void> = Promise.resolve()

  function publish(): void {
    // A tool whose code changed stays listed, so that a call is answered with the reason and what to do.
    const offered = preparedTools()
      .filter((entry) => folderTools.whyOff(entry) === undefined || folderTools.isOwnEdit(entry))
      .filter(({ tool }) => tool.manifest.trigger.type === 'on_demand')
    registry.replace(contractSource, offered.map(toTool))
    prune()
    for (const listener of [...listeners]) listener()
  }

  function preparedTools(): LoadedFolderTool[] {
    return folderTools
      .all()
      .filter((entry) => entry.kind === 'tool')
      .filter((entry) => entry.staged.stage().kind === 'ready')
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
      .then(() => sources.prune((key) => currentKeys().some((current) => key.startsWith(current))))
      .catch((error) => logger.warn('old copies of tools could not be removed', { error }))
  }

  function currentKeys(): string[] {
    return folderTools.all().flatMap((entry) => (entry.kind === 'tool' ? [keptKey(entry.tool.folder)] : []))
  }

  return {
    catalog,
    /** Finds the tools, offers them, and follows their folders from then on. Builds go on after it resolves. */
    start: (): Promise<void> => folderTools.reload(),
    /** Those that run without being asked and are ready to. */
    triggered: (): TriggeredFolderTool[] =>
      preparedTools()
        .filter((entry) => folderTools.whyOff(entry) === undefined)
        .flatMap(toTriggered),
    /** Calls after every change of what there is, until the returned function is called. */
    onChange(listener: () => void): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** When nothing is being looked at or built. */
    settled: (): Promise<void> => folderTools.settled(),
    /** Before the sandbox and the database. */
    async close(): Promise<void> {
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

/** A folder tool as the model has it. */
function createContractTool(
  manifest: ToolManifest,
  options: { hosts: readonly string[]; call(input: Json, context: ToolContext): Promise<ToolRun> },
): Tool {
  const { name, description, output } = manifest
  return createCustomTool({
    definition: { name, description, inputSchema: parameterSchema(manifest.parameters) },
    reach: contractReach(manifest, options.hosts),
    documentation: [manifest.documentation ?? '', ...manifest.tips].join('\n').trim(),
    async run(input, context) {
      const run = await options.call(input, context)
      const { label, ephemeral } = output
      const text = textFor(manifest, run)
      const outcome = toOutcome(name, run, { text, label, notes: notesFor(manifest, run) })
      return { ...outcome, ...(ephemeral && { isEphemeral: true }) }
    },
  })
}

/** `host` is this machine's whole network: never without asking. */
function contractReach({ name, network }: ToolManifest, hosts: readonly string[]): ToolReach {
  if (network.mode === 'host') return { kind: 'asks', destination: `tool:${name} on this machine's network` }
  return reachOf(name, network.mode === 'none' ? [] : hosts)
}

/** If the text is hidden behind a card, the model knows of the card and not its content. */
function textFor({ output }: ToolManifest, run: ToolRun): string {
  if (!output.synthesize && run.card) {
    return `The user is shown the result as a card, "${run.card.title}". Do not repeat it.`
  }
  return run.text ?? run.card?.text ?? 'Done.'
}

/** In Familiar's own words, so outside of the markers. */
function notesFor({ costBudget }: ToolManifest, { budgetRemaining, notes }: ToolRun): string[] {
  const budget = costBudget === null ? budgetRemaining : `${budgetRemaining} of ${costBudget}`
  return [...notes, ...(budgetRemaining === null ? [] : [`Budget left: ${budget}.`])]
}

const processes = 64
const maxAllowedHosts = 50

export type ToolCatalog = ReturnType<typeof createToolCatalog>

/**
 * Every tool that there is, with its settings and its past calls: what the command line, the API and the page ask.
 * Whatever has no such name is undefined or `not_found`; a tool that is broken is listed with its reason.
 */
function createToolCatalog(dependencies: {
  registry: ToolRegistry
  folderTools: FolderTools
  runs: FolderToolRuns
  settings: ToolSettings
  audit: ToolAudit
  isEnabled(): boolean
}) {
  const { registry, folderTools, runs, settings, audit, isEnabled } = dependencies

  async function all(userId: string): Promise<ToolDetails[]> {
    const details = [
      ...otherTools().map(describeOther),
      ...(await Promise.all(folderTools.all().map((entry) => describeFolder(userId, entry)))),
    ]
    return details.map(switchedOff).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Looks at that one alone. A folder cannot take the name of another tool. */
  async function one(userId: string, name: string): Promise<ToolDetails | undefined> {
    const other = otherTools().find(({ tool }) => tool.definition.name === name)
    if (other) return switchedOff(describeOther(other))
    const folder = folderTools.find(name)
    return folder && switchedOff(await describeFolder(userId, folder))
  }

  /** Built-in tools and tools of MCP servers. */
  function otherTools(): RegisteredTool[] {
    return registry.entries().filter(({ source }) => source !== contractSource)
  }

  /** Registered, but switched off by name. */
  function isNamedOff(name: string): boolean {
    return !registry.find(name) && registry.entries().some(({ tool }) => tool.definition.name === name)
  }

  function switchedOff(details: ToolDetails): ToolDetails {
    if (isEnabled() && isNamedOff(details.name)) {
      return { ...details, status: 'disabled', problem: 'Switched off by tools.disabled in the configuration' }
    }
    if (isEnabled() || details.status === 'error') return details
    return { ...details, status: 'disabled', problem: 'Tools are switched off (tools.enabled in the configuration)' }
  }

  async function describeFolder(userId: string, entry: FolderTool): Promise<ToolDetails> {
    if (entry.kind === 'wrong') return describeWrong(entry)
    const { manifest, notes } = entry.tool
    await entry.staged.checked()
    const { status, problem } = await statusOf(userId, entry)
    return {
      name: entry.name,
      description: manifest.description,
      version: manifest.version,
      category: manifest.category,
      icon: manifest.icon,
      kind: 'contract',
      trigger: manifest.trigger.type,
      status,
      problem,
      directory: entry.directory,
      parameters: parameterSchema(manifest.parameters),
      configuration: manifest.configuration,
      network: {
        mode: manifest.network.mode,
        declared: manifest.network.hosts,
        allowed: folderTools.state(entry.name)?.hosts ?? [],
      },
      limits: { ...manifest.limits, processes },
      refusedHosts: runs.refusedHosts(entry.name),
      readsArgument: manifest.input === 'argument',
      notes,
    }
  }

  async function statusOf(
    userId: string,
    entry: LoadedFolderTool,
  ): Promise<{ status: ToolStatus; problem: string | null }> {
    const why = folderTools.whyOff(entry)
    if (why !== undefined) return { status: 'disabled', problem: why }
    return await readinessOf(userId, entry)
  }

  async function readinessOf(
    userId: string,
    entry: LoadedFolderTool,
  ): Promise<{ status: ToolStatus; problem: string | null }> {
    const { manifest } = entry.tool
    const stage = entry.staged.stage()
    if (stage.kind === 'lacking') return { status: 'error', problem: stage.problem }
    if (stage.kind !== 'ready') return { status: 'building', problem: null }
    if (manifest.configuration.length === 0) return { status: 'system', problem: null }
    const { missing } = await settings.read({ userId, tool: entry.name, fields: manifest.configuration })
    if (missing.length === 0) return { status: 'connected', problem: null }
    return { status: 'available', problem: `needs ${missing.join(', ')}: familiar tools config ${entry.name}` }
  }

  /** A tool of a folder, whose settings and switch are the owner's business here. */
  function findFolder(name: string): LoadedFolderTool {
    const entry = folderTools.find(name)
    if (!entry) throw notFound(name)
    if (entry.kind === 'wrong') throw new FamiliarError('conflict', `${name} is broken. ${entry.problem}`)
    return entry
  }

  function isElsewhere(name: string): boolean {
    return !folderTools.find(name) && otherTools().some(({ tool }) => tool.definition.name === name)
  }

  function settingsOf(userId: string, name: string) {
    return { userId, tool: name, fields: fieldsOf(name) }
  }

  function fieldsOf(name: string) {
    if (isElsewhere(name)) return []
    return findFolder(name).tool.manifest.configuration
  }

  return {
    list: (userId: string): Promise<ToolSummary[]> => all(userId),
    show: one,
    /** Runs a tool of a folder by hand. Never throws for what the tool does. */
    async run(request: {
      userId: string
      name: string
      params: Json
      telemetry?: Partial<ClientContext>
      caller: ToolCall['caller']
      /** For a scheduled or webhook run: the state of the previous run. The tool finds it in `params._state`. */
      state?: Json
      signal: AbortSignal
    }): Promise<ToolRun> {
      const { userId, name, caller } = request
      const run = isElsewhere(name)
        ? unstartedRun(`${name} is no tool of a folder: ask for it in a message.`, 'refused')
        : await runs.run(request)
      // A turn writes its calls down itself, with the result.
      if (caller === 'turn') return run
      const { outcome, durationMs, driver, budgetRemaining, error } = run
      await audit.record({
        userId,
        tool: name,
        caller,
        userText: '',
        outcome,
        durationMs,
        driver,
        budgetRemaining,
        error,
      })
      return run
    },
    /** Secrets are `***`. */
    config: async (userId: string, name: string): Promise<Record<string, Json>> =>
      settings.masked(settingsOf(userId, name)),
    /** `***` keeps the secret that is set. An unknown key is a `bad_request` that names it, and nothing is written. */
    setConfig: async (userId: string, name: string, values: Record<string, Json>): Promise<void> =>
      settings.write(settingsOf(userId, name), values),
    deleteConfig: async (userId: string, name: string, key: string): Promise<void> =>
      settings.delete(settingsOf(userId, name), key),
    /** Whether everything is set that it needs. Runs nothing. */
    async test(userId: string, name: string): Promise<{ ok: boolean; message: string }> {
      const details = await one(userId, name)
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
      if (isElsewhere(name)) throw new FamiliarError('bad_request', `${name} is no tool of a folder.`)
      if (!folderTools.find(name)) throw notFound(name)
      if (isOn) return await folderTools.decide(name, approvedState(findFolder(name).tool, true))
      await folderTools.decide(name, { isEnabled: false })
    },
    /** In place of what the owner allowed before. Only for the local command line (SEC-4). */
    async allowHosts(name: string, hosts: readonly string[]): Promise<void> {
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
    reload: (): Promise<void> => folderTools.reload(),
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

function describeWrong({ name, directory, problem }: Extract<FolderTool, { kind: 'wrong' }>): ToolDetails {
  return { ...unknown(name), directory, kind: 'contract', status: 'error', problem }
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
