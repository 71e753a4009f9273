import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { describeFileError } from './walk-files.ts'

export type QuietFile =
  | { ok: true; bytes: Uint8Array; modifiedAt: number }
  /** `vanished` is no problem: the next look finds it gone. */
  | { ok: false; reason: 'being_written' | 'too_large' | 'unreadable' | 'vanished'; message: string }

/** Within this time after its last change a file may still be changing. */
export const quietMs = 200

/** A whole file that nobody is writing at this moment. Never follows a symlink and never waits for a pipe. */
export async function readQuietFile(
  path: string,
  { now, mostBytes }: { now: () => number; mostBytes: number },
): Promise<QuietFile> {
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    try {
      const before = await file.stat()
      if (!before.isFile()) return { ok: false, reason: 'unreadable', message: 'it is no file' }
      if (before.size > mostBytes)
        return { ok: false, reason: 'too_large', message: `it has more than ${mostBytes} bytes` }
      if (Math.abs(now() - before.mtimeMs) < quietMs) return beingWritten
      // It may grow while it is read; a byte more than there should be tells.
      const bytes = await readAtMost(file, before.size + 1)
      const after = await file.stat()
      const isSame = bytes.length === before.size && after.size === before.size && after.mtimeMs === before.mtimeMs
      return isSame ? { ok: true, bytes, modifiedAt: Math.trunc(before.mtimeMs) } : beingWritten
    } finally {
      await file.close()
    }
  } catch (cause) {
    const { code, message } = describeFileError(cause)
    return { ok: false, reason: code === 'ENOENT' || code === 'ENOTDIR' ? 'vanished' : 'unreadable', message }
  }
}

const beingWritten: QuietFile = { ok: false, reason: 'being_written', message: 'it is being written' }

async function readAtMost(file: FileHandle, most: number): Promise<Uint8Array> {
  const buffer = Buffer.alloc(most)
  let length = 0
  while (length < most) {
    const { bytesRead } = await file.read(buffer, length, most - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}
