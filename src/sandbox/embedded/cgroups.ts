import { accessSync, chownSync, constants, lstatSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { hasCode, readIfThere } from '../../base/files.ts'
import { tryKill } from '../../base/processes.ts'
import type { SandboxAccount } from './readable-folders.ts'

/** The name prefix of all our groups, before the name of the driver instance. */
const namePrefix = 'familiar-sandbox-'
/**
 * This program moves to this leaf of its own group, because only groups without processes may have limited children.
 */
const ownLeaf = 'familiar-main'

/**
 * The trees of this machine in which this user may create groups. `open` is undefined if they are not available here;
 * `places` may contain groups of earlier drivers; `fix` is the command that would give this user some.
 */
export function findCgroups(options: { instance: string; account: SandboxAccount; proc?: string }) {
  const { account, proc = '/proc/self' } = options
  const name = `${namePrefix}${options.instance}`
  const mounts = cgroupMounts(readIfThere(join(proc, 'mountinfo')).trim())
  const own = ownGroups(readIfThere(join(proc, 'cgroup')).trim())

  const memory = mounts.find(({ version, controllers }) => version === 1 && controllers.includes('memory'))
  const pids = mounts.find(({ version, controllers }) => version === 1 && controllers.includes('pids'))
  if (memory && pids) {
    const memoryTree = writableTreeV1(memory.path, own.get('memory'))
    const processTree = writableTreeV1(pids.path, own.get('pids'))
    if (!memoryTree || !processTree) return { places: [], fix: grantV1(memory.path, pids.path) }
    const places = [memoryTree, processTree]
    return { open: () => openCgroups({ version: 1, trees: places, name, account }), places, fix: null }
  }

  const unified = mounts.find(({ version }) => version === 2)
  const tree = unified && delegatedTreeV2(unified.path, own.get(''))
  if (!tree) return { places: [], fix: unified ? grantV2 : null }
  return { open: () => openCgroups({ version: 2, trees: [tree], name, account }), places: [tree], fix: null }
}

/** Kills and removes the groups of drivers that no longer exist. */
export async function removeAbandonedCgroups(
  places: readonly string[],
  isAbandoned: (instance: string) => boolean,
): Promise<void> {
  for (const place of places) {
    const names = readdirSync(place).filter((each) => each.startsWith(namePrefix))
    for (const name of names.filter((each) => isAbandoned(each.slice(namePrefix.length)))) {
      const group = join(place, name)
      const killBelow = () => {
        for (const entry of readdirSync(group, { withFileTypes: true })) {
          if (entry.isDirectory()) killMembers(join(group, entry.name))
        }
      }
      await removeGroups([group], killBelow).catch(() => undefined)
    }
  }
}

/** Root creates groups at the top; other users in a delegated group or below their own. */
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
 * A group whose children may have limits: below the top for root, below its own group for a service with
 * `Delegate=yes`. There this program must first move from the group itself to a leaf.
 */
function delegatedTreeV2(top: string, own: string | undefined): string | undefined {
  const ownGroup = join(top, own ?? '')
  const candidates = basename(ownGroup) === ownLeaf ? [dirname(ownGroup), top] : [ownGroup, top]
  return candidates.find((tree) => isWritable(tree) && handsDown(tree))
}

function handsDown(tree: string): boolean {
  const has = (file: string) =>
    ['memory', 'pids'].every((each) => readIfThere(join(tree, file)).trim().split(/\s+/).includes(each))
  if (has('cgroup.subtree_control')) return true
  if (!has('cgroup.controllers')) return false
  if (tryWrite(tree, 'cgroup.subtree_control', '+memory +pids')) return true
  // Other programs in it must not be moved.
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

/** Parses lines like `36 32 0:30 / /sys/fs/cgroup/memory rw,relatime shared:17 - cgroup cgroup rw,memory`. */
function cgroupMounts(mountinfo: string): CgroupMount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ')
    const [kind, , options = ''] = after.split(' ')
    const path = before.split(' ')[4]
    if (!path || (kind !== 'cgroup' && kind !== 'cgroup2')) return []
    return [{ version: kind === 'cgroup' ? (1 as const) : (2 as const), path, controllers: options.split(',') }]
  })
}

/** Parses lines like `4:memory:/a/b` and `0::/a/b`, by controller; the version 2 tree has an empty name. */
function ownGroups(text: string): Map<string, string> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const [, controllers, path] = line.split(':')
      return path === undefined ? [] : (controllers ?? '').split(',').map((each): [string, string] => [each, path])
    }),
  )
}

/** Far longer than the kernel needs to reap processes: beyond it, something is wrong with the machine. */
const patienceMs = 10_000

function readNumber(directory: string, file: string): number | null {
  const text = readIfThere(join(directory, file)).trim()
  return /^\d+$/.test(text) ? Number(text) : null
}

/** The value of a name in a file of lines `name value`. */
function readEntry(directory: string, file: string, name: string): number | null {
  const lines = readIfThere(join(directory, file)).split('\n')
  const line = lines.find((each) => each.startsWith(`${name} `))
  return line ? Number(line.slice(name.length + 1)) : null
}

function write(directory: string, file: string, value: string | number): void {
  writeFileSync(join(directory, file), String(value))
}

/** For files that not every kernel has. */
function tryWrite(directory: string, file: string, value: string | number): boolean {
  try {
    write(directory, file, value)
    return true
  } catch {
    return false
  }
}

function killMembers(directory: string): void {
  for (const pid of members(directory)) tryKill(pid)
}

/** A process outside this pid namespace is shown as 0, and writing 0 would mean this process. */
function members(directory: string): number[] {
  const pids = readIfThere(join(directory, 'cgroup.procs')).split('\n').map(Number)
  return pids.filter((pid) => pid > 0)
}

/** Removes the groups, children first. Members are killed until none is left. */
async function removeGroups(directories: readonly string[], kill: () => void): Promise<void> {
  const deadline = performance.now() + patienceMs
  const left = new Set(directories)
  for (let round = 0; left.size > 0; round += 1) {
    for (const directory of left) if (removeTree(directory)) left.delete(directory)
    if (left.size === 0) return
    if (performance.now() > deadline) throw new Error(`A cgroup cannot be emptied: ${[...left].join(', ')}`)
    kill()
    await pause(Math.min(round, 20))
  }
}

function removeTree(directory: string): boolean {
  try {
    for (const name of readdirSync(directory)) {
      const child = join(directory, name)
      if (lstatSync(child, { throwIfNoEntry: false })?.isDirectory() && !removeTree(child)) return false
    }
    rmdirSync(directory)
    return true
  } catch (cause) {
    return hasCode(cause, 'ENOENT')
  }
}

/** The names of the same files in both versions. */
const files = {
  1: { kills: 'memory.oom_control', peak: 'memory.max_usage_in_bytes' },
  2: { kills: 'memory.events', peak: 'memory.peak' },
} as const

/**
 * Creates this driver's cgroups. Everything here is synchronous: the kernel answers from memory. Version 1 has a tree
 * per resource, memory first, and a call is in both; version 2 has one tree that delegates both controllers. Throws if
 * a tree cannot be written.
 */
function openCgroups(options: { version: 1 | 2; trees: readonly string[]; name: string; account: SandboxAccount }) {
  const { version, account } = options
  const parents = options.trees.map((tree) => join(tree, options.name))
  for (const parent of parents) {
    mkdirSync(parent)
    if (version === 1) continue
    write(parent, 'cgroup.subtree_control', '+memory +pids')
    // Moving a process requires write access to the common ancestor.
    if (account.isOther) chownSync(join(parent, 'cgroup.procs'), account.uid, account.gid)
  }

  function limitMemory(memory: string, bytes: number): void {
    if (version === 1) {
      write(memory, 'memory.limit_in_bytes', bytes)
      // If swap is not counted, it is not used.
      if (!tryWrite(memory, 'memory.memsw.limit_in_bytes', bytes)) tryWrite(memory, 'memory.swappiness', 0)
      return
    }
    write(memory, 'memory.max', bytes)
    tryWrite(memory, 'memory.swap.max', 0)
    // Running out of memory ends all processes of the call: a partial program is useless.
    tryWrite(memory, 'memory.oom.group', 1)
  }

  return {
    version,
    /** Owned by this account, so that processes of the sandbox may join it. */
    make(child: string): Cgroup {
      const groups = parents.map((parent) => join(parent, child))
      const [memory = '', processes = memory] = groups
      const joinFiles = groups.map((group) => join(group, 'cgroup.procs'))
      for (const group of groups) mkdirSync(group)
      if (account.isOther) for (const file of joinFiles) chownSync(file, account.uid, account.gid)
      const kill = () => {
        if (version === 1 || !tryWrite(memory, 'cgroup.kill', 1)) killMembers(processes)
      }
      return {
        joinFiles,
        async add(pid) {
          // The kernel moves a process with a delay.
          for (const file of joinFiles) await writeFile(file, String(pid))
        },
        limit(limits) {
          limitMemory(memory, limits.memoryBytes)
          write(processes, 'pids.max', limits.processes)
        },
        memoryKills: () => readEntry(memory, files[version].kills, 'oom_kill') ?? 0,
        peakMemoryBytes: () => readNumber(memory, files[version].peak),
        kill,
        remove: () => removeGroups(groups, kill),
      }
    },
    /** Removes everything that `make` created, with its processes, and itself. */
    remove: () => removeGroups(parents, () => undefined),
  }
}

export type CgroupParent = ReturnType<typeof openCgroups>

export interface CgroupLimits {
  memoryBytes: number
  processes: number
}

/** The processes of one call, counted and limited together. A process joins by writing `0` to each of `joinFiles`. */
export interface Cgroup {
  readonly joinFiles: readonly string[]
  /** Moves a process of this program into it. */
  add(pid: number): Promise<void>
  limit(limits: CgroupLimits): void
  /** How often the kernel killed a process because memory ran out. */
  memoryKills(): number
  /** Null if this kernel does not report it. */
  peakMemoryBytes(): number | null
  kill(): void
  /** Kills remaining processes and resolves when the group is gone. */
  remove(): Promise<void>
}
