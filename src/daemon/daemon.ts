import { systemClock } from '../base/clock.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { DaemonRole } from '../storage/fleet.ts'
import { assemble, CannotListen, flagsOf } from './assemble.ts'
import type { ConfigProblem } from './config/config-problem.ts'
import { loadConfig } from './config/load-config.ts'
import { acquireDaemonLock } from './daemon-lock.ts'
import { openHome } from './home.ts'
import type { Daemon, StartOptions } from './started-daemon.ts'

export type StartResult =
  | { ok: true; daemon: Daemon }
  | { ok: false; reason: 'home' | 'database' | 'port'; message: string; hint: string }
  | { ok: false; reason: 'config'; problems: ConfigProblem[] }
  | { ok: false; reason: 'locked'; pid: number | null; url: string | null }

/** Starts Familiar in a home: the one place where everything is put together. What it opened, `close` closes. */
export async function startDaemon(options: StartOptions): Promise<StartResult> {
  const { home, env, clock = systemClock() } = options
  const opened = await openHome(home)
  if (!opened.ok) return { ok: false, reason: 'home', message: opened.message, hint: opened.hint }
  const { paths } = opened
  const loaded = loadConfig({ home, env, flags: flagsOf(options) })
  if (!loaded.ok) return { ok: false, reason: 'config', problems: loaded.problems }
  if (options.role && options.role !== 'all' && loaded.config.database.url === null) return noFleet(options.role)
  const lock = await acquireDaemonLock(home)
  if (!lock.ok) return { ok: false, reason: 'locked', pid: lock.pid, url: lock.url }

  const closers: (() => unknown)[] = [lock.release]
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    return { ok: true, daemon: await assemble({ ...options, clock }, paths, loaded, closers, closeAll) }
  } catch (cause) {
    await closeAll()
    if (cause instanceof CannotListen) {
      const hint = 'Choose another one with --port or FAMILIAR_PORT, or another address with http.host.'
      return { ok: false, reason: 'port', message: cause.message, hint }
    }
    if (!(cause instanceof FamiliarError)) throw cause
    return { ok: false, reason: 'database', message: cause.message, hint: 'familiar doctor tells more.' }
  }
}

function noFleet(role: DaemonRole): StartResult {
  const message = `The role ${role} is for daemons that share a PostgreSQL database, and this one has a file of its own.`
  const hint = 'Set FAMILIAR_DATABASE_URL, or leave --role out. Moving there: familiar migrate --to postgres://…'
  return { ok: false, reason: 'database', message, hint }
}
