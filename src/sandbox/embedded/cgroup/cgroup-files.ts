import { lstatSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Long past what the kernel needs to bury the dead: something is wrong with the machine. */
const patienceMs = 10_000

export function readNumber(directory: string, file: string): number | null {
  try {
    const text = readFileSync(join(directory, file), 'utf8').trim()
    return /^\d+$/.test(text) ? Number(text) : null
  } catch {
    return null
  }
}

/** The value behind a name in a file of lines `name value`. */
export function readEntry(directory: string, file: string, name: string): number | null {
  try {
    const line = readFileSync(join(directory, file), 'utf8')
      .split('\n')
      .find((each) => each.startsWith(`${name} `))
    return line ? Number(line.slice(name.length + 1)) : null
  } catch {
    return null
  }
}

export function write(directory: string, file: string, value: string | number): void {
  writeFileSync(join(directory, file), String(value))
}

/** For what not every kernel has. */
export function tryWrite(directory: string, file: string, value: string | number): boolean {
  try {
    write(directory, file, value)
    return true
  } catch {
    return false
  }
}

/** Waits for the kernel, which takes its time to move a process. */
export async function addMember(joinFiles: readonly string[], pid: number): Promise<void> {
  for (const file of joinFiles) await writeFile(file, String(pid))
}

export function killMembers(directory: string): void {
  for (const pid of members(directory)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended by itself.
    }
  }
}

export function members(directory: string): number[] {
  try {
    const pids = readFileSync(join(directory, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
    // A process outside of this one's pid namespace shows as 0, and 0 would be this process's own group.
    return pids.filter((pid) => pid > 0)
  } catch {
    return []
  }
}

/** Removes the groups, their children first. Members are killed until none is left. */
export async function removeGroups(directories: readonly string[], kill: () => void): Promise<void> {
  const deadline = performance.now() + patienceMs
  const left = new Set(directories)
  for (let round = 0; left.size > 0; round += 1) {
    for (const directory of left) if (removeTree(directory)) left.delete(directory)
    if (left.size === 0) return
    if (performance.now() > deadline) throw new Error(`A cgroup does not empty: ${[...left].join(', ')}`)
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
