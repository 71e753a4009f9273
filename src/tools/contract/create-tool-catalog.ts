import { FamiliarError } from '../../protocol/error.ts'
import { builtinSource, contractSource, type RegisteredTool, type ToolRegistry } from '../registry.ts'
import type { ToolAudit } from '../tool-audit.ts'
import { ownersWord } from './approval.ts'
import type { FolderTool, FolderTools, LoadedFolderTool } from './folder-tools.ts'
import { readHost } from './manifest/read-host.ts'
import { refusal } from './run/call-tool.ts'
import { parameterSchema } from './run/parameter-schema.ts'
import type { FolderToolRuns } from './run-folder-tool.ts'
import type { ToolCatalog, ToolDetails, ToolStatus, ToolSummary } from './tool-catalog.ts'
import type { ToolSettings } from './tool-settings.ts'

const processes = 64
const mostAllowedHosts = 50

export function createToolCatalog(dependencies: {
  registry: ToolRegistry
  folderTools: FolderTools
  runs: FolderToolRuns
  settings: ToolSettings
  audit: ToolAudit
  isEnabled(): boolean
}): ToolCatalog {
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

  /** What comes with the program, and what servers bring. */
  function otherTools(): RegisteredTool[] {
    return registry.entries().filter(({ source }) => source !== contractSource)
  }

  function switchedOff(details: ToolDetails): ToolDetails {
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
    const { manifest } = entry.tool
    const why = folderTools.whyOff(entry)
    if (why !== undefined) return { status: 'disabled', problem: why }
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
    list: async (userId) => (await all(userId)).map(toSummary),
    show: one,
    async run(request) {
      const { userId, name, caller } = request
      const run = isElsewhere(name)
        ? refusal(`${name} is no tool of a folder: ask for it in a message.`, 'refused')
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
    config: async (userId, name) => settings.masked(settingsOf(userId, name)),
    setConfig: async (userId, name, values) => settings.write(settingsOf(userId, name), values),
    deleteConfig: async (userId, name, key) => settings.delete(settingsOf(userId, name), key),
    async test(userId, name) {
      const details = await one(userId, name)
      if (!details) throw notFound(name)
      const ok = details.status === 'system' || details.status === 'connected'
      return { ok, message: ok ? 'Configuration looks complete' : (details.problem ?? 'It is still being built') }
    },
    async setEnabled(name, isOn) {
      if (isElsewhere(name)) throw new FamiliarError('bad_request', `${name} is no tool of a folder.`)
      if (!folderTools.find(name)) throw notFound(name)
      if (isOn) return await folderTools.decide(name, ownersWord(findFolder(name).tool, true))
      await folderTools.decide(name, { isEnabled: false })
    },
    async allowHosts(name, hosts) {
      findFolder(name)
      const read = hosts.map((text) => {
        const host = readHost(text)
        if (host === undefined) throw new FamiliarError('bad_request', `${JSON.stringify(text)} is no host.`)
        return host
      })
      if (read.length > mostAllowedHosts) throw new FamiliarError('bad_request', `At most ${mostAllowedHosts} hosts.`)
      await folderTools.decide(name, { hosts: [...new Set(read)] })
    },
    reload: () => folderTools.reload(),
    calls: (userId, query) => audit.list(userId, query),
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

function toSummary(details: ToolDetails): ToolSummary {
  const { name, description, version, category, icon, kind, trigger, status, problem } = details
  return { name, description, version, category, icon, kind, trigger, status, problem }
}

function notFound(name: string): FamiliarError {
  return new FamiliarError('not_found', `There is no tool named ${name}.`)
}
