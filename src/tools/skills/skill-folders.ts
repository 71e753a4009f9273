import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { WatchFolder } from '../../memory/files/watch-folder.ts'
import { type SkillState, whyOff } from '../../skills/skill-approval.ts'
import type { ToolFolder } from '../contract/folder/tool-folder.ts'
import { createFoldersWatch } from '../contract/folder/watch-folders.ts'
import type { ToolStates } from '../contract/tool-states.ts'
import { type FoundSkillFolder, findSkillFolders, type SkillRoot } from './find-skill-folders.ts'
import { type LoadedSkill, loadSkillFolder, type SkillEntry } from './load-skill-folder.ts'

/** The folders of skills as they are on disk, followed as they change. What is wrong with one touches no other. */
export interface SkillFolders {
  /** Looks at the disk and follows it from then on. Again: looks once more, and at what was decided, too. */
  reload(): Promise<void>
  all(): readonly SkillEntry[]
  find(name: string): SkillEntry | undefined
  /** Why it is not to be used: the owner's word is missing. */
  whyOff(entry: SkillEntry): string | undefined
  decide(name: string, change: Partial<SkillState>): Promise<void>
  /** Every file of a skill that may be used, as it is now and as the owner's word was given for it. */
  open(name: string): Promise<OpenSkill>
  /** When all that happened so far has been taken in. */
  settled(): Promise<void>
  close(): Promise<void>
}

export type OpenSkill = { ok: true; entry: LoadedSkill; folder: ToolFolder } | { ok: false; problem: string }

/** How often the folders are looked for again because some were not watched yet. */
const mostLooks = 5
const statePrefix = 'skill:'

export function createSkillFolders(dependencies: {
  roots(): readonly SkillRoot[]
  states: ToolStates
  /** After every change of what there is. */
  onChange(): void
  clock: Clock
  logger: Logger
  watch?: WatchFolder | undefined
}): SkillFolders {
  const { roots, states, onChange, clock, logger } = dependencies
  const watch = createFoldersWatch({ onChange: lookAgain, clock, logger, watch: dependencies.watch })
  let entries: readonly SkillEntry[] = []
  let known: ReadonlyMap<string, SkillState> = new Map()
  let looking: Promise<void> = Promise.resolve()
  let isLookDue = false
  let isClosed = false

  function lookAgain(): void {
    // One that has not begun yet will see this change, too.
    if (isLookDue || isClosed) return
    isLookDue = true
    looking = looking.then(look).catch((error) => logger.error('the folders of skills could not be read', { error }))
  }

  async function look(): Promise<void> {
    isLookDue = false
    const next: SkillEntry[] = []
    for (const found of await findAndFollow()) next.push(inLine((await loadSkillFolder(found)).entry, next))
    if (isClosed) return
    known = await states.all()
    entries = next
    onChange()
  }

  /** Watches first and reads then, so that no change falls between. */
  async function findAndFollow(): Promise<FoundSkillFolder[]> {
    let found = await findSkillFolders(roots())
    for (let looks = 1; watch.follow(found.watched) && looks < mostLooks; looks += 1) {
      found = await findSkillFolders(roots())
    }
    if (found.leftOut > 0) logger.warn('there are too many skills', { leftOut: found.leftOut })
    return found.folders
  }

  function decided(entry: SkillEntry): string | undefined {
    return entry.kind === 'skill' ? whyOff(entry, known.get(statePrefix + entry.name)) : undefined
  }

  const folders: SkillFolders = {
    async reload() {
      lookAgain()
      await looking
    },
    all: () => entries,
    find: (name) => entries.find((entry) => entry.name === name),
    whyOff: decided,
    async decide(name, change) {
      await states.write(statePrefix + name, change)
      known = await states.all()
      onChange()
    },
    async open(name) {
      for (let isSecond = false; ; isSecond = true) {
        const entry = folders.find(name)
        if (!entry) return { ok: false, problem: `There is no skill named ${name}.` }
        if (entry.kind === 'wrong') return { ok: false, problem: `${name} is broken. ${entry.problem}` }
        const why = decided(entry)
        if (why !== undefined) return { ok: false, problem: `${name} is off. ${why}` }
        const now = await loadSkillFolder({ directory: entry.directory, origin: entry.origin, problem: null })
        if (now.folder?.hash === entry.hash) return { ok: true, entry, folder: now.folder }
        // It has changed since the last look, so what was decided may not be about this.
        if (isSecond) return { ok: false, problem: `${name} is being changed. Try again in a moment.` }
        await folders.reload()
      }
    },
    async settled() {
      await looking
    },
    async close() {
      isClosed = true
      watch.close()
      await looking
    },
  }
  return folders
}

/** Two of one name: the one found first has it. */
function inLine(entry: SkillEntry, before: readonly SkillEntry[]): SkillEntry {
  const other = before.find(({ name }) => name === entry.name)
  if (!other || entry.kind === 'wrong') return entry
  const { name, directory, origin } = entry
  return {
    kind: 'wrong',
    name,
    directory,
    origin,
    problem: `there is another skill of this name in ${other.directory}`,
  }
}
