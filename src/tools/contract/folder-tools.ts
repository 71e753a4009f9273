import { basename } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { WatchFolder } from '../../memory/files/watch-folder.ts'
import { firstWord, whyOff } from './approval.ts'
import { type FoundFolder, findToolFolders, type ToolRoot } from './folder/find-tool-folders.ts'
import { readToolFolder } from './folder/read-tool-folder.ts'
import { createFoldersWatch } from './folder/watch-folders.ts'
import { type LoadedTool, loadTool } from './load-tool.ts'
import type { Readiness } from './run/prepare-command.ts'
import { createStagedTool, type StagedTool } from './tool-stage.ts'
import type { ToolState, ToolStates } from './tool-states.ts'

export interface LoadedFolderTool {
  kind: 'tool'
  name: string
  directory: string
  tool: LoadedTool
  staged: StagedTool
}

/** A folder that is a tool, or should be one. */
export type FolderTool = LoadedFolderTool | { kind: 'wrong'; name: string; directory: string; problem: string }

/** The folders of tools as they are on disk, followed as they change. What is wrong with one touches no other. */
export interface FolderTools {
  /** Looks at the disk and follows it from then on. Again: looks once more, and at what was decided, too. */
  reload(): Promise<void>
  all(): readonly FolderTool[]
  find(name: string): FolderTool | undefined
  state(name: string): ToolState | undefined
  /** Why it does not run whatever else is there: the owner's word is missing. */
  whyOff(entry: FolderTool): string | undefined
  decide(name: string, change: Partial<ToolState>): Promise<void>
  /** When every folder that was seen has been looked through and what happened since has been taken in. */
  settled(): Promise<void>
  /** Nothing is followed or built any more when it resolves. */
  close(): Promise<void>
}

/** How often the folders are looked for again because some were not watched yet. */
const mostLooks = 5

export function createFolderTools(dependencies: {
  roots: readonly ToolRoot[]
  states: ToolStates
  prepare(tool: LoadedTool): Promise<Readiness>
  /** Whether somebody else has that name. */
  isTaken(name: string): boolean
  /** After every change of what there is or how far it is. */
  onChange(): void
  clock: Clock
  logger: Logger
  watch?: WatchFolder | undefined
}): FolderTools {
  const { roots, states, prepare, isTaken, onChange, clock, logger } = dependencies
  const ending = new AbortController()
  const watch = createFoldersWatch({ onChange: lookAgain, clock, logger, watch: dependencies.watch })
  let entries: readonly FolderTool[] = []
  let known: ReadonlyMap<string, ToolState> = new Map()
  let looking: Promise<void> = Promise.resolve()
  let isLookDue = false

  function lookAgain(): void {
    // One that has not begun yet will see this change, too.
    if (isLookDue || ending.signal.aborted) return
    isLookDue = true
    looking = looking.then(look).catch((error) => logger.error('the folders of tools could not be read', { error }))
  }

  async function look(): Promise<void> {
    isLookDue = false
    const folders = await findAndFollow()
    const next: FolderTool[] = []
    for (const folder of folders) next.push(await read(folder, next))
    if (ending.signal.aborted) return
    known = await states.all()
    for (const entry of next) await giveFirstWord(entry)
    entries = next
    onChange()
    for (const entry of entries) if (entry.kind === 'tool') void entry.staged.checked()
  }

  /** Watches first and reads then, so that no change falls between. */
  async function findAndFollow(): Promise<FoundFolder[]> {
    let found = await findToolFolders(roots)
    for (let looks = 1; watch.follow(found.watched) && looks < mostLooks; looks += 1)
      found = await findToolFolders(roots)
    return found.folders
  }

  async function read(
    { directory, isPrivate, problem }: FoundFolder,
    before: readonly FolderTool[],
  ): Promise<FolderTool> {
    const name = basename(directory)
    const wrong = (why: string): FolderTool => ({ kind: 'wrong', name, directory, problem: why })
    if (problem !== null) return wrong(problem)
    const other = before.find((entry) => entry.name === name)
    if (other) return wrong(`there is another tool of this name in ${other.directory}`)
    if (isTaken(name)) return wrong('the name belongs to a tool of Familiar')
    const reading = await readToolFolder(directory, { isPrivate })
    if (!reading.ok) return wrong(reading.problem)
    const { folder } = reading
    const same = entries.find((entry) => entry.kind === 'tool' && entry.directory === directory && isSame(entry.tool))
    if (same) return same
    const loading = loadTool(folder)
    if (!loading.ok) return wrong(loading.problem)
    const { tool } = loading
    const staged = createStagedTool({ tool, prepare, onChange, clock, logger, signal: ending.signal })
    return { kind: 'tool', name, directory, tool, staged }

    function isSame(tool: LoadedTool): boolean {
      return tool.folder.hash === folder.hash && tool.folder.isShared === folder.isShared
    }
  }

  async function giveFirstWord(entry: FolderTool): Promise<void> {
    const word = entry.kind === 'tool' ? firstWord(entry.tool, known.get(entry.name)) : undefined
    if (!word) return
    await states.write(entry.name, word)
    known = await states.all()
  }

  const tools: FolderTools = {
    async reload() {
      lookAgain()
      await looking
    },
    all: () => entries,
    find: (name) => entries.find((entry) => entry.name === name),
    state: (name) => known.get(name),
    whyOff: (entry) => (entry.kind === 'tool' ? whyOff(entry.tool, known.get(entry.name)) : undefined),
    async decide(name, change) {
      await states.write(name, change)
      known = await states.all()
      onChange()
    },
    async settled() {
      await looking
      await Promise.all(entries.map((entry) => (entry.kind === 'tool' ? entry.staged.settled() : undefined)))
    },
    async close() {
      ending.abort(new Error('The tools are closing'))
      watch.close()
      await tools.settled()
    },
  }
  return tools
}
