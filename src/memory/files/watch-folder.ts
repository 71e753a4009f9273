import { watch } from 'node:fs'
import { lstat, statfs } from 'node:fs/promises'

/** Tells of every change of a name in one folder, not below it. Throws where the system cannot watch it. */
export type WatchFolder = (
  folder: string,
  listeners: {
    /** The name is null where the system does not say which; a rename is also a name that came or went. */
    onChange(name: string | null, isRename: boolean): void
    /** It watches no more. */
    onError(error: Error): void
  },
) => { close(): void }

/**
 * One folder at a time: the recursive way of Node watches on Linux every single file, those of hidden and package folders
 * too, and runs out of watches where this does not.
 */
export const watchFolder: WatchFolder = (folder, { onChange, onError }) => {
  const watcher = watch(folder, { persistent: false }, (event, name) => onChange(name, event === 'rename'))
  watcher.on('error', onError)
  return watcher
}

export async function isFolder(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined)
  return found?.isDirectory() === true
}

// NFS, SMB (three of them), 9P, FUSE: what changes at the other end makes no event here. Numbers of Linux.
const remote = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546])

export async function isRemote(path: string): Promise<boolean> {
  const found = await statfs(path).catch(() => undefined)
  return found !== undefined && remote.has(found.type)
}
