import { accessSync, constants, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { silentLogger } from '../../src/base/logger.ts'
import { createEmbeddedDriver } from '../../src/sandbox/embedded/embedded-driver.ts'
import type { SandboxDriver } from '../../src/sandbox/sandbox.ts'

export const hasBubblewrap = existsSync('/usr/bin/bwrap')
export const isRoot = process.geteuid?.() === 0

/** All users of this machine can read the file in place. */
export function isOpenToAll(file: string): boolean {
  for (let path = dirname(file); path !== '/'; path = dirname(path)) {
    if ((lstatSync(path).mode & 0o001) === 0) return false
  }
  return (lstatSync(file).mode & 0o004) !== 0
}

export interface OpenEmbedded {
  driver: SandboxDriver
  directory: string
}

/** Drivers of one test file; `closeAll` belongs into its `afterEach`. */
export function embeddedDrivers() {
  const opened: OpenEmbedded[] = []
  return {
    open(options: Partial<Parameters<typeof createEmbeddedDriver>[0]> = {}): OpenEmbedded {
      const directory = mkdtempSync(join(tmpdir(), 'familiar-embedded-'))
      const driver = createEmbeddedDriver({ directory, logger: silentLogger, ...options })
      opened.push({ driver, directory })
      return { driver, directory }
    },
    async closeAll() {
      for (const { driver, directory } of opened.splice(0)) {
        await driver.close()
        rmSync(directory, { recursive: true, force: true })
      }
    },
  }
}

/** New resources of this process's drivers on the machine. */
export function leftSince(before: ReturnType<typeof leftovers>): string[] {
  const { processes, places, mounts, descriptors } = leftovers()
  const pidOf = (line: string) => line.split(' ')[0]
  const known = new Set(before.processes.map(pidOf))
  return [
    ...processes.filter((line) => !known.has(pidOf(line))),
    ...places.filter((place) => !before.places.includes(place)),
    ...mounts.filter((mount) => !before.mounts.includes(mount)),
    // Other tests release theirs, too.
    ...(descriptors > before.descriptors ? [`${descriptors - before.descriptors} descriptors`] : []),
  ]
}

/** Current resources of this process's drivers on the machine. */
export function leftovers() {
  const own = (name: string) => name.includes(`-${process.pid}-`)
  const trees = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids', '/sys/fs/cgroup', '/var/lib/familiar-sandbox']
  return {
    processes: processesBelow(process.pid),
    places: trees.filter(canList).flatMap((path) => readdirSync(path).filter(own)),
    // Others mount things, too; what is of a driver has its name in it.
    mounts: readFileSync('/proc/self/mountinfo', 'utf8').split('\n').filter(own),
    descriptors: readdirSync('/proc/self/fd').length,
  }
}

function canList(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** All descendants, those that have ended and were not buried included; but for a database that other tests share. */
export function processesBelow(pid: number): string[] {
  const all = everyProcess()
  const below = (root: number): string[] =>
    all.flatMap((each) => {
      if (each.parent !== root) return []
      const tree = [`${each.pid} ${each.name}`, ...below(each.pid)]
      return tree.some((name) => / postgres /.test(name)) ? [] : tree
    })
  return below(pid)
}

/** The processes that this one has started itself, by their program. */
export function ownChildren(program: string): number[] {
  const isOwn = (each: { parent: number; name: string }) => each.parent === process.pid && each.name.startsWith(program)
  return everyProcess()
    .filter(isOwn)
    .map(({ pid }) => pid)
}

function everyProcess() {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map((name) => ({ pid: Number(name), ...statusOf(name) }))
}

function statusOf(pid: string): { parent: number; name: string } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const field = (name: string) => new RegExp(`^${name}:\\s*(.+)$`, 'm').exec(status)?.[1] ?? ''
    return { parent: Number(field('PPid')), name: `${field('Name')} ${field('State')}` }
  } catch {
    return { parent: -1, name: '' }
  }
}
