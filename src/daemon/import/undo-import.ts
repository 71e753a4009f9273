import { readFile, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sha256 } from '../../base/hash.ts'
import { writeFileAtomically } from '../../base/safe-file.ts'
import { isInside } from '../../memory/files/cite-file.ts'
import { starterTextOf } from './find-place.ts'
import type { ImportRecord, WrittenFile } from './import-record.ts'

export interface UndoneImport {
  removed: string[]
  /** Changed since: the user's own by now. */
  kept: string[]
}

/** Takes away what an import has written and nobody has changed since. */
export async function undoImport(record: ImportRecord, workspace: string): Promise<UndoneImport> {
  const undone: UndoneImport = { removed: [], kept: [] }
  for (const file of record.written.toReversed()) {
    const path = join(workspace, file.path)
    // The record is a file like any other, and somebody may have written to it.
    if (path === workspace || !isInside(workspace, path)) continue
    const content = await readFile(path).catch(() => undefined)
    if (content === undefined) continue
    if (sha256(content) !== file.sha256) undone.kept.push(file.path)
    else {
      await takeAway(workspace, file)
      undone.removed.push(file.path)
    }
  }
  return undone
}

async function takeAway(workspace: string, { path, way }: WrittenFile): Promise<void> {
  const starter = way === 'starter' ? starterTextOf(path) : undefined
  if (starter !== undefined) return await writeFileAtomically(join(workspace, path), `${starter}\n`)
  await rm(join(workspace, path))
  // Folders that are empty now; those of the home itself stay.
  for (let folder = dirname(path); folder.includes('/'); folder = dirname(folder)) {
    const isGone = await rmdir(join(workspace, folder)).then(
      () => true,
      () => false,
    )
    if (!isGone) return
  }
}
