import { randomUUID } from 'node:crypto'
import { chmod, lstat, mkdir, mkdtemp, open, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { FamiliarError } from '../protocol/error.ts'

/**
 * After this resolves the new content survives a power cut; before that, and on every failure, the old one stands.
 * Readers never see a half-written file. Replaces a symlink at `path` instead of writing through it.
 */
export async function writeFileAtomically(
  path: string,
  data: string | Uint8Array | AsyncIterable<Uint8Array>,
  mode = 0o600,
): Promise<void> {
  await replace(path, data, { mode, durable: true })
}

/** The same for what is worth nothing after a power cut: whole or old for every reader, and no disk is waited for. */
export async function replaceFile(path: string, data: string | Uint8Array, mode = 0o600): Promise<void> {
  await replace(path, data, { mode, durable: false })
}

async function replace(
  path: string,
  data: string | Uint8Array | AsyncIterable<Uint8Array>,
  { mode, durable }: { mode: number; durable: boolean },
): Promise<void> {
  // The same directory, since a rename is atomic only inside one file system.
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`)
  try {
    const file = await open(temporary, 'wx', mode)
    try {
      // The mode given to open() is cut by the umask; what was asked for is what the file gets.
      await file.chmod(mode)
      await file.writeFile(data)
      if (durable) await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    if (durable) await syncDirectory(dirname(path))
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {})
    throw toFileError(path, cause)
  }
}

/** A rename is durable only once the directory that holds the name is. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Makes `path` a directory that only this user can enter, or says why it cannot be one. */
export async function ensurePrivateDirectory(path: string): Promise<void> {
  // A trailing slash would make lstat look through a symlink.
  const directory = resolve(path)
  const found = await lstat(directory).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined
    throw notWritable(directory, cause)
  })
  if (!found) {
    await mkdir(directory, { recursive: true, mode: 0o700 }).catch((cause) => {
      throw notWritable(directory, cause)
    })
    return
  }
  // Whoever owns the link can point it elsewhere after the check.
  if (found.isSymbolicLink()) throw new FamiliarError('forbidden', `${directory} is a symlink. Use the real directory.`)
  if (!found.isDirectory()) throw new FamiliarError('forbidden', `${directory} is not a directory.`)
  const user = process.geteuid?.()
  if (user !== undefined && found.uid !== user) {
    throw new FamiliarError('forbidden', `${directory} belongs to another user.`)
  }
  // Closing /tmp to everybody else would break the machine.
  if (found.mode & stickyBit) {
    throw new FamiliarError('forbidden', `${directory} is shared with other users. Use a directory of your own.`)
  }
  if (found.mode & 0o077) await chmod(directory, found.mode & 0o700)
  try {
    // Trying is the only check that also knows of read-only file systems and access lists.
    await rmdir(await mkdtemp(join(directory, '.probe-')))
  } catch (cause) {
    throw notWritable(directory, cause)
  }
}

const stickyBit = 0o1000

function notWritable(path: string, cause: unknown): FamiliarError {
  const reason = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
  return new FamiliarError('forbidden', `${path} cannot be written${reason}. Check who owns it and its permissions.`, {
    cause,
  })
}

export function toFileError(path: string, cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return cause
  return new FamiliarError('storage_full', `The disk is full: ${path} was not written.`, { cause })
}
