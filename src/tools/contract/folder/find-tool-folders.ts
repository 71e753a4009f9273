import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isFolder } from '../../../memory/files/watch-folder.ts'
import { slug } from '../manifest/manifest-schema.ts'
import type { WatchedFolders } from './watch-folders.ts'

/** A folder that holds folders of tools. */
export interface ToolRoot {
  path: string
  /** Nobody but the owner can enter it: it lies in the home. */
  isPrivate: boolean
}

/** What of a root may be a tool: every folder in it that holds a manifest, a Dockerfile or a runner. */
export interface FoundFolder {
  directory: string
  isPrivate: boolean
  /** Set where it is refused by its name or kind alone. */
  problem: string | null
}

export interface FoundFolders {
  /** In the order of the roots, then of names. */
  folders: FoundFolder[]
  /** All that must be watched to see a change. */
  watched: WatchedFolders
}

const mostTools = 500
const mostWatchedInside = 100
const toolFile = /^(?:manifest\.json|Dockerfile|(?:runner|main)\.[a-z]+)$/

export async function findToolFolders(roots: readonly ToolRoot[]): Promise<FoundFolders> {
  const folders: FoundFolder[] = []
  const watched = new Map<string, string | null>()
  for (const { path, isPrivate } of roots) {
    await watchRoot(path, watched)
    for (const entry of await entriesIn(path)) {
      if (folders.length >= mostTools) break
      const directory = join(path, entry.name)
      if (entry.isDirectory()) {
        await addFoldersInside(directory, watched)
        const isTool = (await entriesIn(directory)).some((inner) => toolFile.test(inner.name))
        if (isTool) folders.push({ directory, isPrivate, problem: slug.test(entry.name) ? null : notSlug })
      } else if (entry.isSymbolicLink()) folders.push({ directory, isPrivate, problem: isLink })
    }
  }
  return { folders, watched }
}

const notSlug = 'the name of a tool has small letters, digits, "_" and "-" only'
const isLink = 'it is a link; name the folder that it leads to in tools.directories'

export async function addFoldersInside(directory: string, watched: Map<string, string | null>): Promise<void> {
  const waiting = [directory]
  const most = watched.size + mostWatchedInside
  for (let folder = waiting.shift(); folder !== undefined && watched.size < most; folder = waiting.shift()) {
    watched.set(folder, null)
    for (const entry of await entriesIn(folder)) {
      // Packages come and go as a whole, with the file that lists them.
      const isPassedOver = entry.name === 'node_modules' || entry.name === '__pycache__'
      if (entry.isDirectory() && !isPassedOver) waiting.push(join(folder, entry.name))
    }
  }
}

/** The root, and above it the folder in which it, or the first of what it lies in, comes and goes. */
export async function watchRoot(path: string, watched: Map<string, string | null>): Promise<void> {
  if (await isFolder(path)) watched.set(path, null)
  let missing = path
  while (!(await isFolder(dirname(missing))) && dirname(missing) !== missing) missing = dirname(missing)
  const around = dirname(missing)
  if (!watched.has(around)) watched.set(around, basename(missing))
}

/** In order of name, hidden ones left out. */
export async function entriesIn(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => [])
  return entries.filter(({ name }) => !name.startsWith('.')).sort((a, b) => (a.name < b.name ? -1 : 1))
}
