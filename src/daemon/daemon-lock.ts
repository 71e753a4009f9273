import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { hasCode, writeFileAtomically } from '../base/files.ts'
import { parseJson } from '../base/json.ts'
import { homePaths } from './home-paths.ts'

type DaemonLock =
  | { ok: true; release(): Promise<void> }
  /** The current holder, as far as known: `url` is null while it is still starting. */
  | { ok: false; pid: number | null; startedAt: number | null; url: string | null }

const busy = 5
const patienceMs = 500

/**
 * One daemon per home. The home must be open.
 *
 * A kernel lock decides, taken by holding a transaction of an empty database open: it cannot be won twice, and it ends
 * with the process for whatever reason. Node has no file lock, and a pid file alone cannot distinguish a dead daemon
 * from another program with its pid. The pid file and the record are informational.
 *
 * Nothing else may open the lock file: when a process closes any descriptor of a file, POSIX drops all its locks on it.
 */
export async function acquireDaemonLock(home: string): Promise<DaemonLock> {
  const paths = homePaths(home)
  const lock = tryLock(paths.daemonLock)
  if (!lock) {
    const { pid = null, startedAt = null, url = null } = (await findHolder(home)) ?? {}
    return { ok: false, pid, startedAt, url }
  }
  try {
    const identity = processIdentity(process.pid) ?? ''
    await writeRecord(home, { pid: process.pid, identity, startedAt: Date.now(), url: null, credential: null })
    await writeFileAtomically(paths.pidFile, `${process.pid}\n`)
  } catch (cause) {
    lock.close()
    throw cause
  }
  return {
    ok: true,
    async release() {
      if (!lock.isOpen) return
      // While the lock is still held, so these files are ours.
      await rm(paths.pidFile, { force: true })
      await rm(paths.daemonInfo, { force: true })
      lock.close()
    },
  }
}

/** Undefined if another connection, of this process or another, holds it. */
function tryLock(path: string): DatabaseSync | undefined {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    chmodSync(path, 0o600)
    database.exec('BEGIN EXCLUSIVE')
    return database
  } catch (cause) {
    database.close()
    if (cause instanceof Error && 'errcode' in cause && cause.errcode === busy) return undefined
    throw cause
  }
}

/** The winner of a race may not have written its record yet. */
async function findHolder(home: string): Promise<DaemonRecord | undefined> {
  for (let waited = 0; ; waited += 50) {
    const record = readLiveRecord(home)
    if (record || waited >= patienceMs) return record
    // Not the clock's timer, which would let the process end before it has reported why.
    await wait(50)
  }
}

/**
 * Identifies the process behind a pid: the same text while that process lives, another one when the pid is reused, also
 * after a reboot. Undefined if no such process is running; empty if the system does not tell.
 */
export function processIdentity(pid: number): string | undefined {
  if (!isRunning(pid)) return undefined
  return fromProc(pid) ?? fromPs(pid) ?? ''
}

/** Whether the recorded process is the one that has its pid now. */
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
    // It exists, but cannot be signalled.
    return hasCode(cause, 'EPERM')
  }
}

/** Linux: its start tick and the boot id. */
function fromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    // The second field is the program's name, which may contain spaces and brackets: count from its last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie is dead and only waits for its parent.
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

const recordSchema = z.object({
  pid: z.int().positive(),
  identity: z.string(),
  startedAt: z.number(),
  /** Null until it listens. */
  url: z.string().nullable(),
  credential: z.string().nullable(),
})
type DaemonRecord = z.infer<typeof recordSchema>

/** Only for the process that holds the lock; readable by this user only. */
export async function writeDaemonInfo(home: string, info: { url: string; credential: string }): Promise<void> {
  const record = readRecord(home)
  if (!record || record.pid !== process.pid) throw new Error('The daemon lock is not held by this process')
  await writeRecord(home, { ...record, ...info })
}

/**
 * How the CLI reaches the running daemon that listens; undefined if there is none, whatever an earlier one left behind.
 * The credential is valid as long as the daemon runs.
 */
export function readDaemonInfo(home: string) {
  const record = readLiveRecord(home)
  if (!record || record.url === null || record.credential === null) return undefined
  const { pid, startedAt, url, credential } = record
  return { pid, startedAt, url, credential }
}

/** Includes a daemon that is still starting. */
export function readLiveRecord(home: string): DaemonRecord | undefined {
  const record = readRecord(home)
  return record && isSameProcess(record.pid, record.identity) ? record : undefined
}

export async function writeRecord(home: string, record: DaemonRecord): Promise<void> {
  await writeFileAtomically(homePaths(home).daemonInfo, `${JSON.stringify(record)}\n`)
}

function readRecord(home: string): DaemonRecord | undefined {
  try {
    const parsed = parseJson(readFileSync(homePaths(home).daemonInfo, 'utf8'), recordSchema)
    return parsed.ok ? parsed.value : undefined
  } catch {
    return undefined
  }
}
