import { readdirSync, readFileSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { removeAbandonedCgroups } from './cgroup/find-cgroups.ts'
import { isAbandoned } from './instance.ts'

/** The name under which a process of the sandbox carries the life of its driver. */
export const markName = 'FAMILIAR_SANDBOX'

/**
 * Removes what drivers left behind whose process was killed: processes first, then cgroups and files. What belongs to a
 * driver that still lives, in this process or another one, is not touched; what is not this user's to remove stays.
 */
export async function removeAbandoned(options: { stagePlace: string; cgroupPlaces: readonly string[] }): Promise<void> {
  for (const pid of markedProcesses()) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended by itself.
    }
  }
  await removeAbandonedCgroups(options.cgroupPlaces, isAbandoned)
  for (const name of await readdir(options.stagePlace).catch(() => [])) {
    if (!isAbandoned(name)) continue
    await rm(join(options.stagePlace, name), { recursive: true, force: true }).catch(() => undefined)
  }
}

/** They die with their driver; this finds one that was just being born then. */
function markedProcesses(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    const mark = markOf(pid)
    return mark !== undefined && isAbandoned(mark)
  })
}

function markOf(pid: number): string | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
    return environment.find((each) => each.startsWith(`${markName}=`))?.slice(markName.length + 1)
  } catch {
    // Somebody else's, or gone.
    return undefined
  }
}
