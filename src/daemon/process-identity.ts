import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Which process a pid means now: the same text for as long as that process lives, another one when the pid is given to
 * somebody else, also after a restart of the machine. Undefined where no such process is running; empty where the
 * system does not tell.
 */
export function processIdentity(pid: number): string | undefined {
  if (!isRunning(pid)) return undefined
  return fromProc(pid) ?? fromPs(pid) ?? ''
}

/** Whether the process that was recorded is the one that has its pid now. */
export function isSameProcess(pid: number, recorded: string): boolean {
  const current = processIdentity(pid)
  if (current === undefined) return false
  return current === '' || recorded === '' || current === recorded
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    // Not ours to signal, but there.
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM'
  }
}

/** Linux: the tick at which it was started, counted from a boot that has an id of its own. */
function fromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    // The second field is the program's name, which may hold spaces and brackets: count from behind its last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie is dead and only waits to be noticed by its parent.
    return fields[0] === 'Z' || fields[0] === 'X' ? 'dead' : `${boot}:${fields[19]}`
  } catch {
    return undefined
  }
}

function fromPs(pid: number): string | undefined {
  try {
    const format = ['-o', 'lstart=', '-p', String(pid)]
    return execFileSync('/bin/ps', format, { encoding: 'utf8', timeout: 2000, stdio: 'pipe' }).trim() || undefined
  } catch {
    return undefined
  }
}
