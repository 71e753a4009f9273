import { accessSync, constants, realpathSync } from 'node:fs'
import { join } from 'node:path'

/** Where this program's own Node stands, if it is not one of the system's. */
export const ownPrograms = '/opt/familiar/bin'

const systemPrograms = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin']
const systemFolders = /^\/(usr|bin|sbin|lib|lib32|lib64|libx32)\//

export const innerPath = [ownPrograms, ...systemPrograms].join(':')

/** Where a command finds the program, of those that this machine's system brings; the same path inside and outside. */
export function findSystemProgram(name: string): string | undefined {
  if (name.includes('/')) return undefined
  return systemPrograms.map((folder) => join(folder, name)).find(isThere)
}

/** Whether a command finds the program. */
export function hasProgram(name: string): boolean {
  return name === 'node' || findSystemProgram(name) !== undefined
}

function isThere(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    // A link out of the system's folders leads nowhere inside.
    return systemFolders.test(realpathSync(path))
  } catch {
    return false
  }
}

/** This program's Node, unless it lies in the system's folders anyway. */
export function ownNode(executable = process.execPath): string | undefined {
  return systemFolders.test(executable) ? undefined : executable
}
