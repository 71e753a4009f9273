import { readFile } from 'node:fs/promises'

/** The whole file, as it is. */
export function readBytes(path: string): Promise<Uint8Array> {
  return readFile(path)
}
