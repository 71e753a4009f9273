import { randomBytes, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncDirectory, writeFileAtomically } from '../base/safe-file.ts'
import { FamiliarError } from '../protocol/error.ts'

const keyBytes = 32
// As text, so that it survives being copied, mailed to oneself or printed.
const pattern = /^[0-9a-f]{64}\n?$/

/**
 * The key of a key file; undefined where there is none. One that somebody else could have read or put there is refused,
 * in words that say what to do.
 */
export async function readKeyFile(path: string): Promise<Buffer | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined
    if (cause.code !== 'ELOOP') throw cause
    throw refused(`${path} is a symlink, which could be pointed elsewhere. Put the key itself there.`)
  })
  if (!file) return undefined
  try {
    // Of the open file, not of its name: that may lead elsewhere by now.
    const found = await file.stat()
    if (!found.isFile()) throw refused(`${path} is not a file. The key of the secrets belongs there.`)
    const user = process.geteuid?.()
    if (user !== undefined && found.uid !== user) throw refused(`${path} belongs to another user.`)
    if (found.mode & 0o077) {
      throw refused(
        `Other users of this machine can read ${path}. Close it (chmod 600 ${path}), then replace it, since it may have been read: familiar secrets rotate-key`,
      )
    }
    const text = found.size <= keyBytes * 2 + 1 ? await file.readFile('latin1') : ''
    if (!pattern.test(text)) {
      throw refused(
        `${path} holds no key (${found.size} bytes, not ${keyBytes * 2} hexadecimal digits). Put the one back that was there.`,
      )
    }
    return Buffer.from(text.trim(), 'hex')
  } finally {
    await file.close()
  }
}

/** Makes a key that survives a power cut; where another process was quicker, its key is the one. */
export async function makeKeyFile(path: string): Promise<Buffer> {
  const temporary = `${path}.${randomUUID()}.new`
  const key = newKey()
  await writeKeyFile(temporary, key)
  try {
    await link(temporary, path)
    await syncDirectory(dirname(path))
    return key
  } catch (cause) {
    const existing = isExisting(cause) ? await readKeyFile(path) : undefined
    if (!existing) throw cause
    return existing
  } finally {
    await rm(temporary, { force: true })
  }
}

export async function writeKeyFile(path: string, key: Buffer): Promise<void> {
  await writeFileAtomically(path, `${key.toString('hex')}\n`)
}

/** The one takes the other's place at once, and for good. */
export async function replaceKeyFile(path: string, replacement: string): Promise<void> {
  await rename(replacement, path)
  await syncDirectory(dirname(path))
}

export async function removeKeyFile(path: string): Promise<void> {
  await rm(path, { force: true })
}

export function newKey(): Buffer {
  return randomBytes(keyBytes)
}

function isExisting(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'EEXIST'
}

function refused(message: string): FamiliarError {
  return new FamiliarError('forbidden', message)
}
