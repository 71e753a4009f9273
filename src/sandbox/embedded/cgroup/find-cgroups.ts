import { accessSync, constants, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { SandboxAccount } from '../sandbox-account.ts'
import type { CgroupParent } from './cgroup.ts'
import { killMembers, members, removeGroups, tryWrite } from './cgroup-files.ts'
import { openCgroupV1 } from './cgroup-v1.ts'
import { openCgroupV2 } from './cgroup-v2.ts'

/** What every group of ours is called, before the name of the driver's life. */
const namePrefix = 'familiar-sandbox-'
/** Where this program moves to in its own group, since only groups without processes may have limited children. */
const ownLeaf = 'familiar-main'

export interface FoundCgroups {
  /** Undefined: none can be had here. */
  open?: () => CgroupParent
  /** Where groups of earlier drivers may lie. */
  places: readonly string[]
  /** What would give this user some. */
  fix: string | null
}

/** The trees of this machine in which this user may make groups. */
export function findCgroups(options: { instance: string; account: SandboxAccount; proc?: string }): FoundCgroups {
  const { account, proc = '/proc/self' } = options
  const name = `${namePrefix}${options.instance}`
  const mounts = cgroupMounts(readText(join(proc, 'mountinfo')))
  const own = ownGroups(readText(join(proc, 'cgroup')))

  const memory = mounts.find(({ version, controllers }) => version === 1 && controllers.includes('memory'))
  const pids = mounts.find(({ version, controllers }) => version === 1 && controllers.includes('pids'))
  if (memory && pids) {
    const memoryTree = writableTreeV1(memory.path, own.get('memory'))
    const processTree = writableTreeV1(pids.path, own.get('pids'))
    if (!memoryTree || !processTree) return { places: [], fix: grantV1(memory.path, pids.path) }
    const open = () => openCgroupV1({ memoryTree, processTree, name, account })
    return { open, places: [memoryTree, processTree], fix: null }
  }

  const unified = mounts.find(({ version }) => version === 2)
  const tree = unified && delegatedTreeV2(unified.path, own.get(''))
  if (!tree) return { places: [], fix: unified ? grantV2 : null }
  return { open: () => openCgroupV2({ tree, name, account }), places: [tree], fix: null }
}

/** Ends and removes the groups of drivers that are gone. */
export async function removeAbandonedCgroups(
  places: readonly string[],
  isAbandoned: (instance: string) => boolean,
): Promise<void> {
  for (const place of places) {
    const names = readdirSync(place).filter((each) => each.startsWith(namePrefix))
    for (const name of names.filter((each) => isAbandoned(each.slice(namePrefix.length)))) {
      const group = join(place, name)
      await removeGroups([group], () => killMembersBelow(group)).catch(() => undefined)
    }
  }
}

function killMembersBelow(group: string): void {
  for (const entry of readdirSync(group, { withFileTypes: true })) {
    if (entry.isDirectory()) killMembers(join(group, entry.name))
  }
}

/** Root makes groups at the top; anybody else where an administrator has given them a group, or below their own. */
function writableTreeV1(top: string, own: string | undefined): string | undefined {
  return [top, givenGroup(top), join(top, own ?? '')].find(isWritable)
}

function givenGroup(top: string): string {
  return join(top, `familiar-${process.geteuid?.() ?? 0}`)
}

function grantV1(...tops: string[]): string {
  const groups = tops.map(givenGroup).join(' ')
  return `sudo mkdir -p ${groups} && sudo chown -R ${process.geteuid?.() ?? 0} ${groups}`
}

const grantV2 = 'systemd-run --user --scope --property=Delegate=yes familiar start'

/**
 * A group whose children may have limits: below the top for root, below its own group for a service that was given it
 * (`Delegate=yes`). There this program has to leave the group itself for a leaf first.
 */
function delegatedTreeV2(top: string, own: string | undefined): string | undefined {
  const ownGroup = join(top, own ?? '')
  const candidates = basename(ownGroup) === ownLeaf ? [dirname(ownGroup), top] : [ownGroup, top]
  return candidates.find((tree) => isWritable(tree) && handsDown(tree))
}

function handsDown(tree: string): boolean {
  const has = (file: string) =>
    ['memory', 'pids'].every((each) => readText(join(tree, file)).split(/\s+/).includes(each))
  if (has('cgroup.subtree_control')) return true
  if (!has('cgroup.controllers')) return false
  if (tryWrite(tree, 'cgroup.subtree_control', '+memory +pids')) return true
  // Other programs in it are not ours to move.
  if (members(tree).some((pid) => pid !== process.pid)) return false
  const leaf = join(tree, ownLeaf)
  mkdirSync(leaf, { recursive: true })
  return tryWrite(leaf, 'cgroup.procs', process.pid) && tryWrite(tree, 'cgroup.subtree_control', '+memory +pids')
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

interface CgroupMount {
  version: 1 | 2
  path: string
  controllers: string[]
}

/** Of lines like `36 32 0:30 / /sys/fs/cgroup/memory rw,relatime shared:17 - cgroup cgroup rw,memory`. */
function cgroupMounts(mountinfo: string): CgroupMount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ')
    const [kind, , options = ''] = after.split(' ')
    const path = before.split(' ')[4]
    if (!path || (kind !== 'cgroup' && kind !== 'cgroup2')) return []
    return [{ version: kind === 'cgroup' ? (1 as const) : (2 as const), path, controllers: options.split(',') }]
  })
}

/** Of lines like `4:memory:/a/b` and `0::/a/b`, by controller; the tree of the second version has an empty name. */
function ownGroups(text: string): Map<string, string> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const [, controllers, path] = line.split(':')
      return path === undefined ? [] : (controllers ?? '').split(',').map((each): [string, string] => [each, path])
    }),
  )
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
