import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { toFileError } from './safe-file.ts'

/** Bytes that wait on the disk, private, until they are read. */
export interface SpoolFile {
  /** From the beginning, once. */
  read(): AsyncIterable<Uint8Array>
  /** Lets go of it. Nothing is left on the disk. */
  close(): Promise<void>
}

/** Takes all of `chunks` in. Where they fail, or the disk does, nothing is left behind. */
export async function spoolFile(directory: string, chunks: AsyncIterable<Uint8Array>): Promise<SpoolFile> {
  const path = join(directory, `.spool.${randomUUID()}.tmp`)
  const file = await open(path, 'wx+', 0o600)
  // Without its name at once, so that no crash leaves it behind; a system that refuses that is asked again at the end.
  await rm(path).catch(() => {})
  async function close(): Promise<void> {
    await file.close()
    await rm(path, { force: true })
  }
  try {
    await file.writeFile(chunks)
  } catch (cause) {
    await close()
    throw toFileError(path, cause)
  }
  return { read: () => file.createReadStream({ start: 0, autoClose: false }), close }
}
