import { lstatSync, readlinkSync } from 'node:fs'

/** How a folder of this machine's system stands in the sandbox's root. */
export type RootEntry = { path: string } & ({ kind: 'folder' } | { kind: 'link'; target: string })

/** The system's programs and libraries. Where /bin is a link into /usr it stays one. */
export function innerRoot(): RootEntry[] {
  return ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path): RootEntry[] => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.isSymbolicLink()) return [{ path, kind: 'link', target: readlinkSync(path) }]
    return found?.isDirectory() ? [{ path, kind: 'folder' }] : []
  })
}

/** The devices that every program may have. */
export const innerDevices = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'] as const

export const innerDirectories = ['/tmp', '/run', '/var'] as const

/** Shared memory is written like files, and counts with them. */
export const innerLinks = {
  '/dev/fd': '/proc/self/fd',
  '/dev/stdin': '/proc/self/fd/0',
  '/dev/stdout': '/proc/self/fd/1',
  '/dev/stderr': '/proc/self/fd/2',
  '/dev/shm': '/tmp',
  '/var/tmp': '/tmp',
} as const
