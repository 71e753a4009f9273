import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, readIfThere } from '../../base/files.ts'
import { tryKill } from '../../base/processes.ts'
import { removeAbandonedCgroups } from './cgroups.ts'

/** The environment variable that marks a sandbox process with its driver instance. */
export const sandboxMark = 'FAMILIAR_SANDBOX'

/**
 * Removes leftovers of drivers whose process was killed: processes first, then cgroups and files. Live drivers, in this
 * process or another one, are not touched; files of other users stay.
 */
export async function removeAbandoned(options: { stagePlace: string; cgroupPlaces: readonly string[] }): Promise<void> {
  for (const pid of markedProcesses()) tryKill(pid)
  await removeAbandonedCgroups(options.cgroupPlaces, isAbandoned)
  for (const name of await readdir(options.stagePlace).catch(() => [])) {
    if (!isAbandoned(name) && !(await isForgotten(options.stagePlace, name))) continue
    await rm(join(options.stagePlace, name), { recursive: true, force: true }).catch(() => undefined)
  }
}

/** Begins the name of the place where a home's writable folders are. */
export const writablePrefix = 'folders-'
const forgottenMs = 30 * 24 * 60 * 60_000

/** Writable folders of a home that has not made one for a month: it may be gone. */
async function isForgotten(place: string, name: string): Promise<boolean> {
  if (!name.startsWith(writablePrefix)) return false
  const found = await lstat(join(place, name)).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > forgottenMs
}

/** They die with their driver; this finds one that was just being started. */
function markedProcesses(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    const environment = readIfThere(`/proc/${pid}/environ`, 'latin1').split('\0')
    const mark = environment.find((each) => each.startsWith(`${sandboxMark}=`))?.slice(sandboxMark.length + 1)
    return mark !== undefined && isAbandoned(mark)
  })
}

/**
 * One instance of a driver. Everything it has outside its memory (folders, cgroups, the environment of its processes)
 * carries this name, so that a later driver recognizes leftovers.
 */
export function instanceName(): string {
  return [pidNamespace(), process.pid, startOf(process.pid), randomBytes(3).toString('hex')].join('-')
}

/**
 * Whether the name belongs to a driver whose process is gone. Drivers of other pid namespaces are not visible and count
 * as alive.
 */
export function isAbandoned(name: string): boolean {
  const [namespace, pid, started, random] = name.split('-')
  if (!random || !/^\d+$/.test(pid ?? '') || namespace !== pidNamespace()) return false
  try {
    return startOf(Number(pid)) !== started
  } catch {
    // Not readable because descriptors ran out: if in doubt, it counts as alive.
    return false
  }
}

function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '')
}

/**
 * When the process was started, in ticks since boot; together with the pid it identifies a process permanently.
 * Undefined: it is gone.
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name, which may contain spaces and brackets: count from its last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch (cause) {
    if (hasCode(cause, 'ENOENT', 'ESRCH')) return undefined
    throw cause
  }
}
