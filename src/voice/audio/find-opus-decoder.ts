import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { readBytes } from '../../base/read-bytes.ts'
import { voiceParts } from '../files/voice-parts.ts'
import { loadOpusDecoder } from './load-opus-decoder.ts'
import type { DecodeOpus } from './read-opus.ts'

/**
 * The decoder in `folder`; null where there is none, or where it is not the file that was installed. It is code, and it
 * lies where others may write: so its hash is taken again whenever it is loaded.
 */
export async function findOpusDecoder(folder: string): Promise<DecodeOpus | null> {
  const [file] = voiceParts.find(({ name }) => name === 'opus-decoder')?.files ?? []
  const code = file && (await readBytes(join(folder, file.name)).catch(() => undefined))
  if (!code || createHash('sha256').update(code).digest('hex') !== file.hash) return null
  return loadOpusDecoder(Buffer.from(code).toString('utf8'))
}
