import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { processIdentity } from '../../daemon/process-identity.ts'
import { copyDatabase } from '../../storage/sqlite/copy-database.ts'
import { restoreSqlite } from '../../storage/sqlite/restore-sqlite.ts'
import { timeForFileName } from '../../storage/sqlite/sqlite-files.ts'
import type { CommandContext } from '../command.ts'
import { answersStatus, type Health } from './check-program.ts'
import type { ProgramChange } from './program-change.ts'
import { resumeService, type StoppedDaemon, stopDaemon } from './stopped-daemon.ts'
import { tryProgram } from './try-program.ts'
import { removeJournal, type UpdateJournal, writeJournal } from './update-journal.ts'

export type ChangeOutcome = {
  snapshot: string | null
  /** A daemon ran that nobody but its user can start again. */
  startAgain: boolean
} & ({ ok: true } | { ok: false; problem: string; keptAside: string | null })

/**
 * Tries the new version, stops the daemon, takes the snapshot, changes the program and looks whether it is healthy;
 * otherwise both are put back.
 *
 * What comes in meanwhile is not lost, for nothing can come in: from the snapshot to the check of the changed program no
 * daemon runs on the home. Senders are refused or wait outside. Only where the daemon had been started again, and failed
 * then, may there be something newer than the snapshot: so the database stays as it is where the old version can read
 * it, and is kept aside where not.
 */
export async function changeProgram(context: CommandContext, change: ProgramChange): Promise<ChangeOutcome> {
  const { homePath: home, output } = context
  const { from, to } = change
  const identity = processIdentity(process.pid) ?? ''
  let journal: UpdateJournal = { from, to, phase: 'trying', snapshot: null, pid: process.pid, identity }
  const note = (next: Partial<UpdateJournal>) => {
    journal = { ...journal, ...next }
    return writeJournal(home, journal)
  }
  await note({})
  output.note(`Trying ${to} on a copy of the home.`)
  const tried = await tryProgram(context, change)
  if (!tried.ok) {
    await settle(home, change)
    return { ...tried, snapshot: null, startAgain: false, keptAside: null }
  }
  output.note('Stopping the daemon, copying the database and changing the program.')
  const stopped = await stopDaemon(context)
  const startAgain = stopped.service === null
  try {
    await note({ phase: 'changing', snapshot: await takeSnapshot(home, to) })
    await change.apply()
  } catch (error) {
    await change.undo()
    await stopped.release()
    await settle(home, change)
    throw error
  }
  const { snapshot } = journal
  const health = await checkChanged(context, change, stopped)
  if (health.ok) {
    await settle(home, change)
    return { ok: true, snapshot, startAgain }
  }
  output.note(`${to} is not healthy: going back to ${from}.`)
  await note({ phase: 'returning' })
  const { keptAside } = await goBack(context, change, { snapshot, keepsNewer: health.hasServed })
  await settle(home, change)
  if (stopped.service) await resumeService(context, stopped.service, from)
  return { ok: false, problem: health.problem, snapshot, startAgain, keptAside }
}

type ChangedHealth = { ok: true } | { ok: false; problem: string; hasServed: boolean }

async function checkChanged(
  context: CommandContext,
  change: ProgramChange,
  stopped: StoppedDaemon,
): Promise<ChangedHealth> {
  await stopped.release()
  const { homePath: home, env, signal } = context
  const answered: Health = await answersStatus({ command: change.command, home, env, signal }, change.to)
  if (!answered.ok) return { ...answered, hasServed: false }
  const served = stopped.service ? await resumeService(context, stopped.service, change.to) : answered
  return served.ok ? served : { ...served, hasServed: true }
}

/** Puts the old program back, and the snapshot where the old program cannot go on with what is there. */
export async function goBack(
  context: CommandContext,
  change: ProgramChange,
  { snapshot, keepsNewer }: { snapshot: string | null; keepsNewer: boolean },
): Promise<{ keptAside: string | null }> {
  const { homePath: home, env, signal } = context
  const stopped = await stopDaemon(context)
  try {
    // The program first: the database of before can be put back by it alone.
    await change.undo()
    if (snapshot === null) return { keptAside: null }
    if (keepsNewer) {
      await stopped.release()
      const old = await answersStatus({ command: change.command, home, env, signal }, change.from)
      if (old.ok) return { keptAside: null }
    }
    const restored = await restoreSqlite({
      backupPath: snapshot,
      databasePath: homePaths(home).database,
      clock: systemClock(),
      isInUse: () => false,
    })
    return { keptAside: restored.keptAside ?? null }
  } finally {
    await stopped.release()
  }
}

async function settle(home: string, change: ProgramChange): Promise<void> {
  await change.finish()
  await removeJournal(home)
}

async function takeSnapshot(home: string, to: string): Promise<string | null> {
  const paths = homePaths(home)
  if (!existsSync(paths.database)) return null
  const path = join(paths.backups, `familiar-before-${to}-${timeForFileName(Date.now())}.db`)
  await copyDatabase({ databasePath: paths.database, targetPath: path })
  return path
}
