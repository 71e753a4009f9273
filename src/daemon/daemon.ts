import type { OnStep } from '../agent/next-step.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import type { OnOutboxStep } from '../channels/outbox.ts'
import type { OnTelegramStep } from '../channels/telegram/services.ts'
import type { OnBuildStep } from '../custom-tools/builder/create-builds.ts'
import type { DaemonRole } from '../fleet/fleet.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Redactor } from '../security/redactor.ts'
import type { Database } from '../storage/database.ts'
import type { Tool } from '../tools/tool.ts'
import { assemble, CannotListen, flagsOf } from './assemble.ts'
import type { ConfigProblem, ReloadableConfig, RestartConfig } from './config/config.ts'
import { loadConfig } from './config/load-config.ts'
import { acquireDaemonLock } from './daemon-lock.ts'
import { openHome } from './home.ts'
import type { HomePaths } from './home-paths.ts'

export type StartResult =
  | { ok: true; daemon: Daemon }
  | { ok: false; reason: 'home' | 'database' | 'unreachable' | 'port'; message: string; hint: string }
  | { ok: false; reason: 'config'; problems: ConfigProblem[] }
  | { ok: false; reason: 'locked'; pid: number | null; url: string | null }

/** Starts Familiar in a home. `close` closes everything that it opened. */
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

  const components = createComponents()
  components.add({ stop: lock.release })
  try {
    const assembled = await assemble({ ...options, clock }, paths, loaded, components)
    await components.start()
    // The port is taken before anything runs.
    await assembled.listen()
    const recovered = await assembled.recover()
    await assembled.lead()
    return { ok: true, daemon: assembled.toDaemon(recovered) }
  } catch (cause) {
    await components.stop()
    if (cause instanceof CannotListen) {
      const hint = 'Choose another one with --port or FAMILIAR_PORT, or another address with http.host.'
      return { ok: false, reason: 'port', message: cause.message, hint }
    }
    if (!(cause instanceof FamiliarError)) throw cause
    const isUnreachable = loaded.config.database.url !== null && cause.code === 'unavailable'
    const reason = isUnreachable ? 'unreachable' : 'database'
    return { ok: false, reason, message: cause.message, hint: 'Run familiar doctor for details.' }
  }
}

function noFleet(role: DaemonRole): StartResult {
  const message = `The role ${role} is for daemons that share a PostgreSQL database, but this home uses a SQLite file.`
  const hint = 'Set FAMILIAR_DATABASE_URL, or omit --role. To move the database: familiar migrate --to postgres://…'
  return { ok: false, reason: 'database', message, hint }
}

/** The values that nearly every part of the daemon is given. */
export interface Essentials {
  /** Read at every use, so that a reload takes effect at once. */
  config: () => ReloadableConfig
  atStart: RestartConfig
  paths: HomePaths
  database: Database
  /** Knows every secret: none of them is stored, sent to a model or shown (SEC-13). */
  redactor: Redactor
  clock: Clock
  ids: Ids
  logger: Logger
  timeZone: string
}

/** A part of the daemon with a life cycle. Methods without work are absent. */
export interface Component {
  /** Reads what turns need. Before the port is taken. */
  start?(): unknown
  /** Starts the duties that one daemon of a fleet does: schedules, deliveries, background work. */
  lead?(): unknown
  /** The config was read again. */
  reload?(): unknown
  /** Finishes the running work and releases everything. */
  stop?(): unknown
}

export type Components = ReturnType<typeof createComponents>

/** The parts of the daemon in the order in which they depend on each other; `stop` goes in reverse order. */
function createComponents() {
  const parts: Component[] = []
  const inOrder = (method: 'start' | 'lead' | 'reload') => async () => {
    for (const part of parts) await part[method]?.()
  }
  return {
    add<Part extends Component>(part: Part): Part {
      parts.push(part)
      return part
    },
    start: inOrder('start'),
    lead: inOrder('lead'),
    reload: inOrder('reload'),
    async stop() {
      for (const part of parts.splice(0).reverse()) await part.stop?.()
    },
  }
}

export interface StartOptions {
  home: string
  env: Readonly<Record<string, string | undefined>>
  /** Over what the config says. */
  port?: number
  host?: string
  /** Lines for a person, beside the log file. */
  writeLine?: (line: string) => void
  /** Resumes turns and messages of an earlier run; false for a command that only reads. True by default. */
  recover?: boolean
  /** Makes the owner's token at the first start, to be shown once; not for a command that shows none. True by default. */
  makeToken?: boolean
  /** The role if several daemons share one database; `all` by default. */
  role?: DaemonRole
  clock?: Clock
  extraTools?: readonly Tool[]
  onStep?: OnStep
  onBuildStep?: OnBuildStep
  onTelegramStep?: OnTelegramStep
  onOutboxStep?: OnOutboxStep
}

export type Daemon = ReturnType<Awaited<ReturnType<typeof assemble>>['toDaemon']>
