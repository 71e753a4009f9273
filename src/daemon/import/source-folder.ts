import { constants, type Dirent } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { decodeText } from '../../memory/files/decode-text.ts'
import { describeFileError } from '../../memory/files/walk-files.ts'

const largestText = 2_000_000

/** In order of name; empty where there is no such folder. */
export async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => [])
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** A text of another agent. Never follows a link: what it leads to was not named (SEC-11). */
export async function readSourceText(
  path: string,
): Promise<{ ok: true; text: string } | { ok: false; reason: string }> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const found = await file.stat()
      if (!found.isFile()) return { ok: false, reason: 'it is no file' }
      if (found.size > largestText) return { ok: false, reason: `it has more than ${largestText / 1_000_000} MB` }
      const decoded = decodeText(await file.readFile())
      return decoded.ok ? { ok: true, text: decoded.text } : { ok: false, reason: 'it is no text' }
    } finally {
      await file.close()
    }
  } catch (cause) {
    return { ok: false, reason: describeFileError(cause).message }
  }
}
