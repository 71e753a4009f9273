import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** How this program came here, which says how it can be replaced. */
export type Installation =
  /** A clone of the repository, with its history or without. */
  | { kind: 'clone'; root: string; command: string; hasHistory: boolean }
  /** By `npm install -g`: `root` is below `prefix`, and `command` is npm's link to it. */
  | { kind: 'global'; root: string; command: string; prefix: string }
  /** From npx's cache. */
  | { kind: 'npx'; root: string; command: string }
  /** As a part of somebody's project. */
  | { kind: 'package'; root: string; command: string }

const ownRoot = fileURLToPath(new URL('../../../', import.meta.url))

/** Where `familiar update` works, beside the program: a rename is atomic only inside one file system. */
export const workFolderName = '.familiar-update'

export function findInstallation(at: string = ownRoot): Installation {
  const root = at.endsWith(sep) ? at.slice(0, -1) : at
  const command = join(root, 'bin', 'familiar')
  if (existsSync(join(root, 'src'))) return { kind: 'clone', root, command, hasHistory: existsSync(join(root, '.git')) }
  if (root.split(sep).includes('_npx')) return { kind: 'npx', root, command }
  const modules = dirname(root)
  const prefix = dirname(dirname(modules))
  const link = join(prefix, 'bin', 'familiar')
  const isBelowPrefix = basename(modules) === 'node_modules' && basename(dirname(modules)) === 'lib'
  if (isBelowPrefix && leadsHere(link, { command, modules })) return { kind: 'global', root, command: link, prefix }
  return { kind: 'package', root, command }
}

/** A link that an interrupted update has left leads here by way of the update's own folder. */
function leadsHere(link: string, { command, modules }: { command: string; modules: string }): boolean {
  try {
    const target = realpathSync(link)
    return target === realpathSync(command) || target.startsWith(join(modules, workFolderName) + sep)
  } catch {
    return false
  }
}
