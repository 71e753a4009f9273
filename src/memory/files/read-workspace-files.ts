import { readFile } from 'node:fs/promises'
import { decodeText } from './decode-text.ts'
import type { FileIndex } from './index-files.ts'
import { walkFiles } from './walk-files.ts'

export interface WorkspaceFile {
  path: string
  text: string
  /** When it was written last. */
  at: number
}

/** The files that the user keeps for Familiar (MEMORY.md, memory/*.md), as they are now. Unreadable ones are left out. */
export async function readWorkspaceFiles(index: Pick<FileIndex, 'roots'>, userId: string): Promise<WorkspaceFile[]> {
  const roots = await index.roots(userId)
  const { files } = await walkFiles(roots.filter((root) => root.isWorkspace).map((root) => root.path))
  const read = Array.from(files.values(), async ({ path, modifiedAt }): Promise<WorkspaceFile[]> => {
    const bytes = await readFile(path).catch(() => undefined)
    const decoded = bytes && decodeText(bytes)
    return decoded?.ok ? [{ path, text: decoded.text, at: modifiedAt }] : []
  })
  return (await Promise.all(read)).flat()
}
