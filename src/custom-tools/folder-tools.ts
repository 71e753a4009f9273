import { basename } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { reasonOf } from '../base/text.ts'
import type { WatchFolder } from '../memory/files/watch-files.ts'
import { type LoadedTool, loadTool, type Readiness } from './command.ts'
import { approvedState, firstWord, isOwnEdit, type ToolState, type ToolStates, whyToolOff } from './tool-approval.ts'
import {
  createFolderFollower,
  type FoundFolder,
  findToolFolders,
  readToolFolder,
  type ToolRoot,
} from './tool-folder.ts'

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
  /** Whether a tool of another source has that name. */
  isTaken(name: string): boolean
  /** After every change of what there is or how far it is. */
  onChange(): void
  clock: Clock
  logger: Logger
  watch?: WatchFolder | undefined
}) {
  const { roots, prepare, isTaken, onChange, clock, logger } = dependencies
  const ending = new AbortController()
  const arrivedAt = new Map<string, number>()
  const find = () => findToolFolders(roots)
  const follower = createFolderFollower({ ...dependencies, what: 'tools', find, read: readAll, decideFirst, onTaken })
  const { all, state } = follower
  const loaded = (): LoadedFolderTool[] => all().filter((entry) => entry.kind === 'tool')

  async function readAll({ folders }: Awaited<ReturnType<typeof find>>): Promise<FolderTool[]> {
    const next: FolderTool[] = []
    for (const folder of folders) next.push(await read(folder, next))
    return next
  }

  async function read(
    { directory, isPrivate, problem }: FoundFolder,
    others: readonly FolderTool[],
  ): Promise<FolderTool> {
    const wrong = (why: string, name = basename(directory)): FolderTool => {
      return { kind: 'wrong', name, directory, problem: why }
    }
    if (problem !== null) return wrong(problem)
    const known = loaded().find((entry) => entry.directory === directory)
    const before = known?.tool.folder
    const reading = await readToolFolder(directory, { isPrivate, before })
    if (!reading.ok) return wrong(reading.problem)
    const { folder } = reading
    const isSame = known && before?.hash === folder.hash && before.isShared === folder.isShared
    const loading = isSame ? { ok: true as const, tool: known.tool } : loadTool(folder)
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

  /** The approval of a new tool that needs no owner. */
  function decideFirst(entry: FolderTool): Partial<ToolState> | undefined {
    if (entry.kind !== 'tool') return undefined
    const { name, tool } = entry
    const first = firstWord(tool, state(name))
    if (first) arrivedAt.set(name, clock.now())
    const isArriving = clock.now() - (arrivedAt.get(name) ?? Number.NEGATIVE_INFINITY) < arrivalMs
    return first ?? (isArriving && isOwnEdit(tool, state(name)) ? approvedState(tool) : undefined)
  }

  function onTaken(): void {
    onChange()
    for (const { staged } of loaded()) void staged.checked()
  }

  const tools = {
    /** Looks at the disk and follows it from then on. Again: looks once more, and at what was decided, too. */
    reload: follower.reload,
    all,
    /** Without those that are broken. */
    loaded,
    find: (name: string): FolderTool | undefined =>
      loaded().find((entry) => entry.name === name) ?? all().find((entry) => entry.name === name),
    state,
    whyOff: ({ name, tool }: LoadedFolderTool): string | undefined => whyToolOff(tool, state(name)),
    /** Only its code changed, and only the owner can have done that: it may be run by hand, and is otherwise off. */
    isOwnEdit: ({ name, tool }: LoadedFolderTool): boolean => isOwnEdit(tool, state(name)),
    async decide(name: string, change: Partial<ToolState>): Promise<void> {
      await follower.decide(name, change)
      onChange()
    },
    /** When every folder that was seen has been looked through and what happened since has been taken in. */
    async settled(): Promise<void> {
      await follower.settled()
      await Promise.all(loaded().map(({ staged }) => staged.settled()))
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

type ToolStage = { kind: 'checking' } | { kind: 'building' } | Exclude<Readiness, { kind: 'unbuilt' }>

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
    move({ kind: 'lacking', problem: reasonOf(error) })
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
