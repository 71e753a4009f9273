import { randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'

/**
 * One life of one driver. Everything it has outside its own memory (folders, cgroups, the environment of its processes)
 * carries this name, so that a later driver can tell what is garbage.
 */
export function instanceName(): string {
  return [pidNamespace(), process.pid, startOf(process.pid), randomBytes(3).toString('hex')].join('-')
}

/** Whether the name is of a driver whose process is gone. Those of other pid namespaces cannot be told, and count as alive. */
export function isAbandoned(name: string): boolean {
  const [namespace, pid, started, random] = name.split('-')
  if (!random || !/^\d+$/.test(pid ?? '') || namespace !== pidNamespace()) return false
  try {
    return startOf(Number(pid)) !== started
  } catch {
    // Not to be told either, for want of descriptors for one: what is not known to be dead is alive.
    return false
  }
}

function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '')
}

/** When the process was started, in ticks since the machine was; a pid together with this names a process for good. Undefined: it is gone. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name, which may hold spaces and brackets: count from behind its last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    throw cause
  }
}
