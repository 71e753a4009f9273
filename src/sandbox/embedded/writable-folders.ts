import { chmod, chown, lstat, mkdir, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type SandboxFolder, SandboxUnavailable } from '../sandbox.ts'

/**
 * A folder below `place` that the account of the sandbox may write. Others cannot reach it: every folder above it up to
 * `place` can only be entered by this user and that account. It is mounted itself, so what is written there is on this
 * machine's disk.
 */
export async function makeWritableFolder(options: {
  place: string
  name: string
  /** Null: the account is this user's, or is only known to an engine. */
  owner: { uid: number; gid: number } | null
  /** Whether the account enters the folder by its path, from outside. */
  entersByPath: boolean
}): Promise<SandboxFolder> {
  const { place, name, owner, entersByPath } = options
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,100}$/.test(name)) throw new Error(`${name} is no name for a folder`)
  await mkdir(place, { recursive: true, mode: 0o700 })
  await chmod(place, entersByPath && owner ? 0o710 : 0o700)
  if (entersByPath && owner) await chown(place, 0, owner.gid)
  const path = join(place, name)
  await mkdir(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST') throw cause
  })
  if (!(await lstat(path)).isDirectory()) throw new SandboxUnavailable(`${path} is not a folder`)
  if (owner) await chown(path, owner.uid, owner.gid)
  await chmod(path, 0o777)
  // The janitor goes by it.
  await utimes(place, new Date(), new Date())
  return { path, owner }
}

/** Only a folder that was made for it is ever mounted writable. */
export function checkedFolder(place: string, path: string): string {
  if (dirname(path) === place) return path
  throw new Error('Only folders of the sandbox can be mounted writable')
}
