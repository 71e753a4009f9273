import { basename, join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/ids.ts'
import { canonicalJson } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { findHiddenIn } from '../base/text.ts'
import type { WatchFolder } from '../memory/files/watch-files.ts'
import {
  readSkill,
  type Skill,
  type SkillFingerprint,
  type SkillOrigin,
  type SkillState,
  whySkillOff,
} from '../tools/skills.ts'
import type { ToolStates } from './tool-approval.ts'
import {
  addFoldersInside,
  createFolderFollower,
  entriesIn,
  readFolderText,
  readToolFolder,
  type ToolFolder,
  type WatchedFolders,
  watchRoot,
} from './tool-folder.ts'

export type OpenSkill = { ok: true; entry: LoadedSkill; folder: ToolFolder } | { ok: false; problem: string }

export type SkillFolders = ReturnType<typeof createSkillFolders>

/** The folders of skills on disk, watched for changes. A broken one does not affect the others. */
export function createSkillFolders(dependencies: {
  roots(): readonly SkillRoot[]
  states: ToolStates
  onChange(): void
  clock: Clock
  logger: Logger
  watch?: WatchFolder | undefined
}) {
  const { roots, onChange, logger } = dependencies
  const find = () => findSkillFolders(roots())
  const follower = createFolderFollower({
    ...dependencies,
    what: 'skills',
    statePrefix: 'skill:',
    find,
    read,
    onTaken: onChange,
  })

  async function read({ folders, leftOut }: Awaited<ReturnType<typeof find>>): Promise<SkillEntry[]> {
    if (leftOut > 0) logger.warn('there are too many skills', { leftOut })
    const next: SkillEntry[] = []
    for (const folder of folders) next.push(inLine((await loadSkillFolder(folder)).entry, next))
    return next
  }

  const skills = {
    /** Looks at the disk and follows it from then on. Again: looks once more, and at what was decided, too. */
    reload: follower.reload,
    all: follower.all,
    find: (name: string): SkillEntry | undefined => follower.all().find((entry) => entry.name === name),
    whyOff: (entry: LoadedSkill): string | undefined => whySkillOff(entry, follower.state(entry.name)),
    usable: (): LoadedSkill[] =>
      follower
        .all()
        .filter((entry) => entry.kind === 'skill')
        .filter((entry) => skills.whyOff(entry) === undefined)
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    async decide(name: string, change: Partial<SkillState>): Promise<void> {
      await follower.decide(name, change)
      onChange()
    },
    /** Every file of an enabled skill, as it is now and as it was approved. */
    async open(name: string): Promise<OpenSkill> {
      for (let isSecond = false; ; isSecond = true) {
        const entry = skills.find(name)
        if (!entry) return { ok: false, problem: `There is no skill named ${name}.` }
        if (entry.kind === 'wrong') return { ok: false, problem: `${name} is broken. ${entry.problem}` }
        const why = skills.whyOff(entry)
        if (why !== undefined) return { ok: false, problem: `${name} is off. ${why.replace(/^Off\. /, '')}` }
        const now = await loadSkillFolder({ directory: entry.directory, origin: entry.origin, problem: null })
        if (now.folder?.hash === entry.hash) return { ok: true, entry, folder: now.folder }
        // It has changed since the last look, so what was decided may not be about this.
        if (isSecond) return { ok: false, problem: `${name} is being changed. Try again in a moment.` }
        await skills.reload()
      }
    },
    settled: follower.settled,
    close: follower.close,
  }
  return skills
}

/** Two of one name: the one found first has it. */
function inLine(entry: SkillEntry, before: readonly SkillEntry[]): SkillEntry {
  const other = before.find(({ name }) => name === entry.name)
  if (!other || entry.kind === 'wrong') return entry
  const { name, directory, origin } = entry
  const problem = `there is another skill of this name in ${other.directory}`
  return { kind: 'wrong', name, directory, origin, problem }
}

/** A folder that holds folders of skills, or is one. */
interface SkillRoot {
  path: string
  origin: SkillOrigin
}

interface FoundSkillFolder {
  directory: string
  origin: SkillOrigin
  /** Set where it is refused by its kind alone. */
  problem: string | null
}

const maxSkills = 300
const deepestCategory = 2
/** In the workspace: what an import brought. It lies there, and is not the user's own for that. */
export const importedFolder = 'imported'
const isLink = 'it is a link; name the folder that it leads to in skills.directories'

/** Every folder with a SKILL.md in a root or in categories of it, and all that must be watched to see a change. */
export async function findSkillFolders(
  roots: readonly SkillRoot[],
): Promise<{ folders: FoundSkillFolder[]; watched: WatchedFolders; leftOut: number }> {
  const folders: FoundSkillFolder[] = []
  const watched = new Map<string, string | null>()
  for (const { path, origin } of roots) {
    await watchRoot(path, watched)
    if (await holdsSkill(path)) {
      await addFoldersInside(path, watched)
      folders.push({ directory: path, origin, problem: null })
    } else folders.push(...(await findIn(path, origin, watched)))
  }
  return { folders: folders.slice(0, maxSkills), watched, leftOut: Math.max(0, folders.length - maxSkills) }
}

/** Public collections are sorted into folders, and those into folders again. */
async function findIn(
  folder: string,
  origin: SkillOrigin,
  watched: Map<string, string | null>,
  depth = 0,
): Promise<FoundSkillFolder[]> {
  const isRoot = depth === 0
  const found: FoundSkillFolder[] = []
  for (const entry of await entriesIn(folder)) {
    const directory = join(folder, entry.name)
    if (isRoot && entry.isSymbolicLink()) found.push({ directory, origin, problem: isLink })
    const isImported = isRoot && origin === 'workspace' && entry.name === importedFolder
    if (!entry.isDirectory() || isImported) continue
    if (isRoot) await addFoldersInside(directory, watched)
    if (await holdsSkill(directory)) found.push({ directory, origin, problem: null })
    else if (depth < deepestCategory) found.push(...(await findIn(directory, origin, watched, depth + 1)))
  }
  return found
}

async function holdsSkill(directory: string): Promise<boolean> {
  return (await entriesIn(directory)).some(({ name }) => skillFiles.includes(name))
}

/** As the format has it, and as some write it. */
const skillFiles = ['SKILL.md', 'skill.md']

export interface LoadedSkill {
  kind: 'skill'
  name: string
  directory: string
  origin: SkillOrigin
  skill: Skill
  files: readonly { path: string; bytes: number }[]
  fingerprint: SkillFingerprint
  hash: string
}

/** A folder that is a skill, or should be one. */
export type SkillEntry =
  | LoadedSkill
  | { kind: 'wrong'; name: string; directory: string; origin: SkillOrigin; problem: string }

const largestSkillFile = 256 * 1024

/** Never throws: a folder that is wrong says why. With what was read, of which only sizes are kept. */
export async function loadSkillFolder({
  directory,
  origin,
  problem,
}: FoundSkillFolder): Promise<{ entry: SkillEntry; folder: ToolFolder | undefined }> {
  const folderName = basename(directory)
  const wrong = (why: string) => ({
    entry: { kind: 'wrong' as const, name: folderName, directory, origin, problem: why },
    folder: undefined,
  })
  if (problem !== null) return wrong(problem)
  // Write access of others does not matter here: it is in the home, or approved byte for byte.
  const reading = await readToolFolder(directory, { isPrivate: true })
  if (!reading.ok) return wrong(reading.problem)
  const { folder } = reading
  const main = folder.files.find(({ path }) => skillFiles.includes(path))
  const text = main && readFolderText(folder, main.path)
  if (!main || text === undefined) return wrong('SKILL.md is missing')
  if (main.bytes.length > largestSkillFile) return wrong('SKILL.md has more than 256 KB')
  const read = await readSkill(text, { folder: folderName })
  if (!read.ok) return wrong(read.problem)
  const paths = folder.files.map(({ path }) => path)
  const hidden = findHiddenIn(text.replace(/^\ufeff/, ''), 'SKILL.md') ?? findHiddenIn(paths, 'the name of a file')
  if (hidden) return wrong(`${hidden.path}: there is a character that cannot be seen, ${hidden.character}`)
  const files = folder.files.filter((file) => file !== main)
  const entry: LoadedSkill = {
    kind: 'skill',
    name: read.skill.name,
    directory,
    origin,
    skill: read.skill,
    files: files.map(({ path, bytes }) => ({ path, bytes: bytes.length })),
    fingerprint: {
      instructions: sha256(text),
      files: sha256(canonicalJson(files.map(({ path, bytes, isExecutable }) => [path, sha256(bytes), isExecutable]))),
    },
    hash: folder.hash,
  }
  return { entry, folder }
}
