import { join } from 'node:path'
import type { SkillOrigin } from '../../skills/skill.ts'
import { addFoldersInside, entriesIn, watchRoot } from '../contract/folder/find-tool-folders.ts'
import type { WatchedFolders } from '../contract/folder/watch-folders.ts'

/** A folder that holds folders of skills, or is one. */
export interface SkillRoot {
  path: string
  origin: SkillOrigin
}

export interface FoundSkillFolder {
  directory: string
  origin: SkillOrigin
  /** Set where it is refused by its kind alone. */
  problem: string | null
}

const mostSkills = 300
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
  return { folders: folders.slice(0, mostSkills), watched, leftOut: Math.max(0, folders.length - mostSkills) }
}

async function findIn(
  root: string,
  origin: SkillOrigin,
  watched: Map<string, string | null>,
): Promise<FoundSkillFolder[]> {
  const found: FoundSkillFolder[] = []
  for (const entry of await entriesIn(root)) {
    const directory = join(root, entry.name)
    if (entry.isSymbolicLink()) found.push({ directory, origin, problem: isLink })
    if (!entry.isDirectory() || (origin === 'workspace' && entry.name === importedFolder)) continue
    await addFoldersInside(directory, watched)
    if (await holdsSkill(directory)) found.push({ directory, origin, problem: null })
    else found.push(...(await skillsInside(directory, origin)))
  }
  return found
}

/** Public collections are sorted into folders, and those into folders again. */
async function skillsInside(category: string, origin: SkillOrigin, depth = 1): Promise<FoundSkillFolder[]> {
  const found: FoundSkillFolder[] = []
  for (const entry of await entriesIn(category)) {
    const directory = join(category, entry.name)
    if (!entry.isDirectory()) continue
    if (await holdsSkill(directory)) found.push({ directory, origin, problem: null })
    else if (depth < deepestCategory) found.push(...(await skillsInside(directory, origin, depth + 1)))
  }
  return found
}

async function holdsSkill(directory: string): Promise<boolean> {
  return (await entriesIn(directory)).some(({ name }) => skillFiles.includes(name))
}

/** As the format has it, and as some write it. */
export const skillFiles = ['SKILL.md', 'skill.md']
