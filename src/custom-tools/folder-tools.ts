import { basename } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { untilAborted } from '../base/work.ts'
import type { WatchFolder } from '../memory/files/watch-files.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { FetchPictures } from '../security/network/picture-fetch.ts'
import type { SandboxProxy } from '../security/network/sandbox-proxy.ts'
import { type ClientContext, completeContext } from '../tools/client-context.ts'
import type { ToolCatalog } from './catalog.ts'
import { type LoadedTool, loadTool, type Readiness, type ReadyCommand } from './command.ts'
import { callTool, type ToolRun, unstartedRun } from './execute.ts'
import type { OutputRedactor } from './output.ts'
import type { SourceStore } from './packages.ts'
import { approvedState, firstWord, isOwnEdit, type ToolState, type ToolStates, whyToolOff } from './tool-approval.ts'
import {
  createFolderFollower,
  type FoundFolder,
  findToolFolders,
  keptKey,
  readToolFolder,
  type ToolRoot,
} from './tool-folder.ts'
import type { ToolSettings } from './tool-settings.ts'

export interface LoadedFolderTool {
  kind: 'tool'
  name: string
  directory: string
  tool: LoadedTool
  staged: StagedTool
}

/** A folder that is a tool, or should be one. */
export type FolderTool = LoadedFolderTool | { kind: 'wrong'; name: string; directory: string; problem: string }

/** Files that follow within this time after the first ones are still part of the copy or clone that brought the tool. */
const arrivalMs = 10_000

export type FolderTools = ReturnType<typeof createFolderTools>

/** The folders of tools on disk, watched for changes. A broken one does not affect the others. */
export function createFolderTools(dependencies: {
  roots: readonly ToolRoot[]
  states: ToolStates
  prepare(tool: LoadedTool): Promise<Readiness>
  /** Whether another user has that name. */
  isTaken(name: string): boolean
  /** After every change of what there is or how far it is. */
  onChange(): void
  clock: Clock
  logger: Logger
  watch?: WatchFolder | undefined
}) {
  const { roots, states, prepare, isTaken, onChange, clock, logger } = dependencies
  const ending = new AbortController()
  const follower = createFolderFollower({ ...dependencies, what: 'tools', find: () => findToolFolders(roots), take })
  let entries: readonly FolderTool[] = []
  let known: ReadonlyMap<string, ToolState> = new Map()
  const arrivedAt = new Map<string, number>()

  async function take({ folders }: Awaited<ReturnType<typeof findToolFolders>>): Promise<void> {
    const next: FolderTool[] = []
    for (const folder of folders) next.push(await read(folder, next))
    if (ending.signal.aborted) return
    known = await states.all()
    for (const entry of next) await giveFirstWord(entry)
    entries = next
    onChange()
    for (const entry of entries) if (entry.kind === 'tool') void entry.staged.checked()
  }

  async function read(
    { directory, isPrivate, problem }: FoundFolder,
    others: readonly FolderTool[],
  ): Promise<FolderTool> {
    const wrong = (why: string, name = basename(directory)): FolderTool => {
      return { kind: 'wrong', name, directory, problem: why }
    }
    if (problem !== null) return wrong(problem)
    const known = entries.find((entry) => entry.kind === 'tool' && entry.directory === directory)
    const before = known?.kind === 'tool' ? known.tool.folder : undefined
    const reading = await readToolFolder(directory, { isPrivate, before })
    if (!reading.ok) return wrong(reading.problem)
    const { folder } = reading
    const isSame = known && before?.hash === folder.hash && before.isShared === folder.isShared
    const loading = isSame && known.kind === 'tool' ? { ok: true as const, tool: known.tool } : loadTool(folder)
    if (!loading.ok) return wrong(loading.problem)
    const { tool } = loading
    const { name } = tool.manifest
    const install = `Give it another name with: familiar tools install ${directory} --as NAME`
    const other = others.find((entry) => entry.kind === 'tool' && entry.name === name)
    if (other) return wrong(`there is another tool of this name in ${other.directory}. ${install}`, name)
    if (isTaken(name)) return wrong(`the name belongs to a tool of Familiar. ${install}`, name)
    if (isSame) return known
    const staged = createStagedTool({ tool, prepare, onChange, clock, logger, signal: ending.signal })
    return { kind: 'tool', name, directory, tool, staged }
  }

  async function giveFirstWord(entry: FolderTool): Promise<void> {
    if (entry.kind !== 'tool') return
    const state = known.get(entry.name)
    const first = firstWord(entry.tool, state)
    if (first) arrivedAt.set(entry.name, clock.now())
    const isArriving = clock.now() - (arrivedAt.get(entry.name) ?? Number.NEGATIVE_INFINITY) < arrivalMs
    const word = first ?? (isArriving && isOwnEdit(entry.tool, state) ? approvedState(entry.tool, true) : undefined)
    if (!word) return
    await states.write(entry.name, word)
    known = await states.all()
  }

  const tools = {
    /** Looks at the disk and follows it from then on. Again: looks once more, and at what was decided, too. */
    reload: follower.reload,
    all: (): readonly FolderTool[] => entries,
    find: (name: string): FolderTool | undefined =>
      entries.find((entry) => entry.kind === 'tool' && entry.name === name) ??
      entries.find((entry) => entry.name === name),
    state: (name: string): ToolState | undefined => known.get(name),
    /** Why it is off: the approval is missing. */
    whyOff: (entry: FolderTool): string | undefined =>
      entry.kind === 'tool' ? whyToolOff(entry.tool, known.get(entry.name)) : undefined,
    /** Only its code changed, and only the owner can have done that: it may be run by hand, and is otherwise off. */
    isOwnEdit: (entry: FolderTool): boolean => entry.kind === 'tool' && isOwnEdit(entry.tool, known.get(entry.name)),
    async decide(name: string, change: Partial<ToolState>): Promise<void> {
      await states.write(name, change)
      known = await states.all()
      onChange()
    },
    /** When every folder that was seen has been looked through and what happened since has been taken in. */
    async settled(): Promise<void> {
      await follower.settled()
      await Promise.all(entries.map((entry) => (entry.kind === 'tool' ? entry.staged.settled() : undefined)))
    },
    /** Nothing is followed or built any more when it resolves. */
    async close(): Promise<void> {
      ending.abort(new Error('The tools are closing'))
      await follower.close()
      await tools.settled()
    },
  }
  return tools
}

/** How far a tool is from running. */
type ToolStage =
  | { kind: 'checking' }
  | { kind: 'building' }
  | { kind: 'lacking'; problem: string }
  | { kind: 'ready'; command: ReadyCommand }

/** Missing parts are not looked for again within this time; a failed build is not tried again. */
const freshMs = 2_000
const buildFreshMs = 300_000

type StagedTool = ReturnType<typeof createStagedTool>

/** One tool on its way to running. It is checked again on demand if something was missing. */
function createStagedTool(dependencies: {
  tool: LoadedTool
  prepare(tool: LoadedTool): Promise<Readiness>
  onChange(): void
  clock: Clock
  logger: Logger
  /** Ends a build. */
  signal: AbortSignal
}) {
  const { tool, prepare, onChange, clock, logger, signal } = dependencies
  let stage: ToolStage = { kind: 'checking' }
  let checkAgainAt = 0
  let checking: Promise<void> | undefined
  let building: Promise<void> | undefined

  function move(next: ToolStage): void {
    stage = next
    onChange()
  }

  async function check(): Promise<void> {
    const readiness = await prepare(tool)
    if (readiness.kind !== 'unbuilt') return move(readiness)
    move({ kind: 'building' })
    building = readiness
      .build(signal)
      .then((built) => move(built.kind === 'unbuilt' ? { kind: 'lacking', problem: 'it could not be built' } : built))
      .catch(fail)
      .finally(() => {
        checkAgainAt = clock.now() + buildFreshMs
        building = undefined
      })
  }

  function fail(error: unknown): void {
    if (!signal.aborted) logger.warn('a tool could not be made ready', { tool: tool.manifest.name, error })
    move({ kind: 'lacking', problem: error instanceof Error ? error.message : String(error) })
  }

  return {
    stage: (): ToolStage => stage,
    /** Resolves when it is known what is missing or that a build is needed. Looks again if something was missing. */
    async checked(): Promise<void> {
      if (building || stage.kind === 'ready') return
      if (stage.kind === 'lacking' && clock.now() < checkAgainAt) return
      checking ??= check()
        .catch(fail)
        .finally(() => {
          checkAgainAt = Math.max(checkAgainAt, clock.now() + freshMs)
          checking = undefined
        })
      await checking
    },
    /** When nothing is under way any more. Begins nothing. */
    async settled(): Promise<void> {
      await checking
      await building
    },
  }
}

type RunRequest = Parameters<ToolCatalog['run']>[0]

const maxRefusedHosts = 20

export type FolderToolRuns = ReturnType<typeof createFolderToolRuns>

/** Runs tools of folders, and remembers the hosts that they were refused. */
export function createFolderToolRuns(dependencies: {
  folderTools: FolderTools
  settings: ToolSettings
  isEnabled(): boolean
  sandbox: Sandbox
  proxy: Pick<SandboxProxy, 'open'>
  fetchPictures?: FetchPictures | undefined
  redactor: OutputRedactor
  telemetry?: ((userId: string) => Promise<Partial<ClientContext>>) | undefined
  /** Keeps the copy of a folder for the time of a call. */
  hold: SourceStore['hold']
  /** After every call. */
  onReleased(): void
  clock: Clock
}) {
  const { folderTools, settings, isEnabled, telemetry = async () => ({}), hold, onReleased, clock } = dependencies
  const refused = new Map<string, Set<string>>()

  function noteRefused(name: string, host: string): void {
    const hosts = refused.get(name) ?? new Set()
    refused.set(name, hosts)
    hosts.delete(host)
    hosts.add(host)
    for (const oldest of hosts) if (hosts.size > maxRefusedHosts) hosts.delete(oldest)
  }

  return {
    /** Whatever stands against it is in the run; a `not_found` where there is no such folder. */
    async run({ userId, name, params, caller, state, signal, ...request }: RunRequest): Promise<ToolRun> {
      if (!isEnabled()) return switchedOff
      const entry = folderTools.find(name)
      if (!entry) throw new FamiliarError('not_found', `There is no tool named ${name} in the folders of tools.`)
      if (entry.kind === 'wrong') return unstartedRun(`${name} is broken. ${entry.problem}`, 'refused')
      const why = folderTools.whyOff(entry)
      const isTrial = caller === 'user' && folderTools.isOwnEdit(entry)
      if (why !== undefined && !isTrial) return unstartedRun(`${name} is off. ${why.replace(/^Off\. /, '')}`, 'refused')
      const { tool, staged } = entry
      await untilAborted(staged.checked(), signal)
      // A user at the terminal waits for a build; a turn or a schedule does not.
      if (caller === 'user') await untilAborted(staged.settled(), signal)
      const stage = staged.stage()
      if (stage.kind === 'lacking') return unstartedRun(`${name} cannot run here: it ${stage.problem}`, 'refused')
      if (stage.kind !== 'ready') return unstartedRun(`${name} is still being built. Try again in a moment.`, 'refused')
      const { manifest, folder } = tool
      const { values, missing } = await settings.read({ userId, tool: name, fields: manifest.configuration })
      if (missing.length > 0) {
        return unstartedRun(`${name} needs ${missing.join(', ')}: familiar tools config ${name}`, 'refused')
      }
      const known = { ...(await telemetry(userId)), ...request.telemetry }
      // It may have been a while since the first look.
      if (!isEnabled()) return switchedOff
      const call = {
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
        const run = await hold(keptKey(folder), () => callTool(call, dependencies))
        return why === undefined ? run : { ...run, notes: [...run.notes, `It ran by hand only. ${why}`] }
      } finally {
        onReleased()
      }
    },
    /** Newest last. */
    refusedHosts: (name: string): readonly string[] => [...(refused.get(name) ?? [])],
  }
}

const switchedOff = unstartedRun('Tools are switched off (tools.enabled in the configuration).', 'refused')
