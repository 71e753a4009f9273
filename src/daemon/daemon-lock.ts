import { chmodSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, systemClock } from '../base/clock.ts'
import { writeFileAtomically } from '../base/safe-file.ts'
import { type DaemonRecord, readLiveRecord, removeRecord, writeRecord } from './daemon-info.ts'
import { homePaths } from './home-paths.ts'
import { processIdentity } from './process-identity.ts'

export type DaemonLock =
  | { ok: true; release(): Promise<void> }
  /** Who holds it, as far as it told: `url` is null while it is still starting. */
  | { ok: false; pid: number | null; startedAt: number | null; url: string | null }

const busy = 5
const patienceMs = 500

/**
 * One daemon per home. The home must be open.
 *
 * What decides is a lock of the kernel, taken by holding a transaction of an empty database open: it cannot be won twice
 * and it goes away with the process however that ends. Node has no file lock of its own, and a pid file alone cannot
 * tell a dead daemon from another program that was given its pid. The pid file and the record are there to be read.
 *
 * Nothing else may open the lock file: where a process closes any descriptor of a file, POSIX drops all its locks on it.
 */
export async function acquireDaemonLock(home: string, clock: Clock = systemClock()): Promise<DaemonLock> {
  const paths = homePaths(home)
  const lock = tryLock(paths.daemonLock)
  if (!lock) {
    const holder = await findHolder(home)
    return { ok: false, pid: holder?.pid ?? null, startedAt: holder?.startedAt ?? null, url: holder?.url ?? null }
  }
  try {
    const identity = processIdentity(process.pid) ?? ''
    await writeRecord(home, { pid: process.pid, identity, startedAt: clock.now(), url: null, credential: null })
    await writeFileAtomically(paths.pidFile, `${process.pid}\n`)
  } catch (cause) {
    lock.close()
    throw cause
  }
  return {
    ok: true,
    async release() {
      if (!lock.isOpen) return
      // While the lock is still held: nobody else can have written these.
      await rm(paths.pidFile, { force: true })
      await removeRecord(home)
      lock.close()
    },
  }
}

/** Undefined where another connection, of this process or another, holds it. */
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
    // Not the clock's timer, which would let the process end before it has said why it leaves.
    await wait(50)
  }
}
