import { join } from 'node:path'
import { type OpenFolder, openFolder } from '../../base/open-folder.ts'
import type { AssetEntry, AssetList } from '../asset-backend.ts'
import type { AssetFailure } from '../asset-failure.ts'
import { type FileBounds, type FileLocation, locateFile } from './locate-file.ts'

const mostEntries = 1_000
const mostNames = 50_000
const mostDepth = 32

/**
 * The plain files under a folder, or the one file that is named. Links are not followed; what is hidden, and what a
 * package manager brought, is left out. Fails as the system does.
 */
export async function listFiles(location: FileLocation, bounds: FileBounds): Promise<AssetList | AssetFailure> {
  const entries: AssetEntry[] = []
  let looked = 0
  let isCut = false
  const shown = (names: readonly string[]) =>
    location.inWorkspace ? join(...location.inWorkspace, ...names) : join(location.real, ...names)

  async function add(folder: OpenFolder, name: string, names: readonly string[]): Promise<'folder' | undefined> {
    const stat = await folder.look(name).catch(() => undefined)
    if (stat?.isDirectory()) return 'folder'
    if (!stat?.isFile() || stat.nlink > 1) return undefined
    const uri = `file://${join(location.real, ...names)}`
    entries.push({ uri, path: shown(names), bytes: stat.size, modifiedAt: Math.trunc(stat.mtimeMs) })
    return undefined
  }

  async function walk(folder: OpenFolder, names: readonly string[]): Promise<void> {
    for (const name of (await folder.names()).sort()) {
      if (entries.length >= mostEntries || looked >= mostNames) {
        isCut = true
        return
      }
      looked += 1
      if (name.startsWith('.') || name === 'node_modules') continue
      const way = [...names, name]
      if ((await add(folder, name, way)) !== 'folder') continue
      if (way.length > mostDepth || !(await isOpen(way))) continue
      const inner = await folder.child(name).catch(() => undefined)
      if (!inner) continue
      try {
        await walk(inner, way)
      } finally {
        await inner.close()
      }
    }
  }

  /** A folder inside may be closed. */
  async function isOpen(names: readonly string[]): Promise<boolean> {
    return (await locateFile(bounds, join(location.real, ...names))).ok
  }

  const parent = await openFolder(location.root.path, location.names.slice(0, -1))
  try {
    const name = location.names.at(-1)
    if (name === undefined) await walk(parent, [])
    else if ((await parent.look(name)).isDirectory()) {
      const folder = await parent.child(name)
      await walk(folder, []).finally(folder.close)
    } else await add(parent, name, [])
  } finally {
    await parent.close()
  }
  entries.sort((one, other) => (one.path < other.path ? -1 : 1))
  return { ok: true, entries, isCut }
}
