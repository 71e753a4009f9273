import {
  accessSync,
  chownSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { SandboxAccount } from './readable-folders.ts'

/** The name prefix of all our groups, before the name of the driver instance. */
const namePrefix = 'familiar-sandbox-'
/**
 * This program moves to this leaf of its own group, because only groups without processes may have limited children.
 */
const ownLeaf = 'familiar-main'

interface FoundCgroups {
  /** Undefined: not available here. */
  open?: () => CgroupParent
  /** Places that may contain groups of earlier drivers. */
  places: readonly string[]
  /** The command that would give this user some. */
  fix: string | null
}

/** The trees of this machine in which this user may create groups. */
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

/** Kills and removes the groups of drivers that no longer exist. */
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
    ['memory', 'pids'].every((each) => readText(join(tree, file)).split(/\s+/).includes(each))
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

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}

/** Far longer than the kernel needs to reap processes: beyond it, something is wrong with the machine. */
const patienceMs = 10_000

function readNumber(directory: string, file: string): number | null {
  try {
    const text = readFileSync(join(directory, file), 'utf8').trim()
    return /^\d+$/.test(text) ? Number(text) : null
  } catch {
    return null
  }
}

/** The value of a name in a file of lines `name value`. */
function readEntry(directory: string, file: string, name: string): number | null {
  try {
    const line = readFileSync(join(directory, file), 'utf8')
      .split('\n')
      .find((each) => each.startsWith(`${name} `))
    return line ? Number(line.slice(name.length + 1)) : null
  } catch {
    return null
  }
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

/** Waits for the kernel, which moves a process with a delay. */
async function addMember(joinFiles: readonly string[], pid: number): Promise<void> {
  for (const file of joinFiles) await writeFile(file, String(pid))
}

function killMembers(directory: string): void {
  for (const pid of members(directory)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended by itself.
    }
  }
}

function members(directory: string): number[] {
  try {
    const pids = readFileSync(join(directory, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
    // A process outside this pid namespace is shown as 0, and writing 0 would mean this process.
    return pids.filter((pid) => pid > 0)
  } catch {
    return []
  }
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
    return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
  }
}

/** Version 1 has a tree per resource; a call is in both. Throws if either cannot be written. */
function openCgroupV1(options: {
  memoryTree: string
  processTree: string
  name: string
  account: SandboxAccount
}): CgroupParent {
  const { name, account } = options
  const memoryParent = join(options.memoryTree, name)
  const processParent = join(options.processTree, name)
  mkdirSync(memoryParent)
  mkdirSync(processParent)

  function make(child: string): Cgroup {
    const memory = join(memoryParent, child)
    const processes = join(processParent, child)
    const joinFiles = [memory, processes].map((directory) => join(directory, 'cgroup.procs'))
    mkdirSync(memory)
    mkdirSync(processes)
    if (account.isOther) for (const file of joinFiles) chownSync(file, account.uid, account.gid)
    const kill = () => killMembers(processes)
    return {
      joinFiles,
      add: (pid) => addMember(joinFiles, pid),
      limit(limits) {
        write(memory, 'memory.limit_in_bytes', limits.memoryBytes)
        // If swap is not counted, it is not used.
        if (!tryWrite(memory, 'memory.memsw.limit_in_bytes', limits.memoryBytes)) {
          tryWrite(memory, 'memory.swappiness', 0)
        }
        write(processes, 'pids.max', limits.processes)
      },
      memoryKills: () => readEntry(memory, 'memory.oom_control', 'oom_kill') ?? 0,
      peakMemoryBytes: () => readNumber(memory, 'memory.max_usage_in_bytes'),
      kill,
      remove: () => removeGroups([memory, processes], kill),
    }
  }

  return {
    version: 1,
    make,
    remove: () => removeGroups([memoryParent, processParent], () => undefined),
  }
}

/** Version 2 has one tree. `tree` delegates the memory and process controllers. Throws if it does not. */
function openCgroupV2(options: { tree: string; name: string; account: SandboxAccount }): CgroupParent {
  const { tree, name, account } = options
  const parent = join(tree, name)
  mkdirSync(parent)
  write(parent, 'cgroup.subtree_control', '+memory +pids')
  // Moving a process requires write access to the common ancestor.
  if (account.isOther) chownSync(join(parent, 'cgroup.procs'), account.uid, account.gid)

  function make(child: string): Cgroup {
    const group = join(parent, child)
    const joinFile = join(group, 'cgroup.procs')
    mkdirSync(group)
    if (account.isOther) chownSync(joinFile, account.uid, account.gid)
    const kill = () => {
      if (!tryWrite(group, 'cgroup.kill', 1)) killMembers(group)
    }
    return {
      joinFiles: [joinFile],
      add: (pid) => addMember([joinFile], pid),
      limit(limits) {
        write(group, 'memory.max', limits.memoryBytes)
        tryWrite(group, 'memory.swap.max', 0)
        // Running out of memory ends all processes of the call: a partial program is useless.
        tryWrite(group, 'memory.oom.group', 1)
        write(group, 'pids.max', limits.processes)
      },
      memoryKills: () => readEntry(group, 'memory.events', 'oom_kill') ?? 0,
      peakMemoryBytes: () => readNumber(group, 'memory.peak'),
      kill,
      remove: () => removeGroups([group], kill),
    }
  }

  return { version: 2, make, remove: () => removeGroups([parent], () => undefined) }
}

export interface CgroupLimits {
  memoryBytes: number
  processes: number
}

/** Creates this driver's cgroups. Everything here is synchronous: the kernel answers from memory. */
export interface CgroupParent {
  readonly version: 1 | 2
  /** Owned by this account, so that processes of the sandbox may join it. */
  make(name: string): Cgroup
  /** Removes everything that `make` created, with its processes, and itself. */
  remove(): Promise<void>
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
