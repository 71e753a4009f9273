import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { mediaTypeOf } from '../base/media-types.ts'
import { formatBytes } from '../base/text.ts'
import type { Attachment } from '../protocol/api.ts'
import { type CommandContext, CommandError, usageError, whyUnreadable } from './command.ts'

const maxFiles = 10

/** The limit of the configuration for all files of a message together. */
export async function maxAttachmentBytes({ homePath, env }: Pick<CommandContext, 'homePath' | 'env'>): Promise<number> {
  const { loadConfig } = await import('../daemon/config/load-config.ts')
  const loaded = loadConfig({ home: homePath, env })
  return loaded.ok ? loaded.config.http.maxAttachmentBytes : 20_000_000
}

/** The files to attach. A file that is missing, not a regular file or too large is reported before anything is sent. */
export async function readAttachments(paths: readonly string[], maxBytes: number): Promise<Attachment[]> {
  if (paths.length > maxFiles) throw usageError(`A message can have at most ${maxFiles} files, not ${paths.length}.`)
  const attachments: Attachment[] = []
  let total = 0
  for (const path of paths) {
    const data = await readRegularFile(path, maxBytes - total, maxBytes)
    total += data.length
    attachments.push({ name: basename(path), media_type: mediaTypeOf(path, data), data: data.toString('base64') })
  }
  return attachments
}

async function readRegularFile(path: string, room: number, maxBytes: number): Promise<Buffer> {
  const file = await open(path).catch((cause: NodeJS.ErrnoException) => {
    throw new CommandError(`Cannot attach ${path}: ${whyUnreadable(cause)}`, { cause })
  })
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new CommandError(`Cannot attach ${path}: it is not a file.`)
    if (stat.size > room) {
      const limit = `All files of a message together may have ${formatBytes(maxBytes)} (http.max_attachment_bytes).`
      throw new CommandError(`Cannot attach ${path}: ${formatBytes(stat.size)} is too large.`, { hint: limit })
    }
    return await file.readFile()
  } finally {
    await file.close()
  }
}
