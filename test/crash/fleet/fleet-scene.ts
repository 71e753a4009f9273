import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { DaemonRole } from '../../../src/fleet/fleet.ts'
import type { TurnEvent } from '../../../src/protocol/events.ts'
import { createPostgresDatabase } from '../../support/postgres/postgres-database.ts'
import type { Evidence } from '../audit/evidence.ts'
import type { Recorded } from '../audit/recorded.ts'
import { readRecordedPostgres } from '../audit/recorded-postgres.ts'
import { auditRecorded } from '../auditor.ts'
import { type Client, createClient } from '../client.ts'
import { writeCrashHome } from '../crash-home.ts'
import { crashToolNames } from '../crash-tools.ts'
import type { Provider } from '../provider.ts'
import { findFreePort, token } from '../scene.ts'
import { readSideEffects } from '../side-effect-ledger.ts'
import { type Child, type CrashPoint, startChild } from '../start-child.ts'
import { watchStream, wholeEvents } from './stream-watcher.ts'

/** One database with daemons around it that come and go, and a client that talks to whichever answers. */
export interface FleetScene {
  client: Client
  databaseUrl: string
  interruptions: number[]
  start(options?: { crashAt?: CrashPoint; role?: DaemonRole }): Promise<FleetDaemon>
  /** Follows a session at all of the daemons. */
  watch(sessionId: string): ReturnType<typeof watchStream>
  /** A stream of the session from its beginning, as one living daemon tells it now. */
  retell(sessionId: string, count: number): Promise<TurnEvent[]>
  recorded(): Promise<Recorded>
  /** Resolves when every message has been answered. */
  settle(): Promise<void>
  audit(): Promise<string[]>
  remove(): Promise<void>
}

export interface FleetDaemon {
  child: Child
  url: string
  kill(): Promise<void>
  stop(): Promise<void>
}

export async function createFleetScene(options: {
  folder: string
  provider: Provider
  patienceMs: number
  /** For every daemon, beside what the crash suite says. */
  toml?: string
  env?: Record<string, string>
}): Promise<FleetScene> {
  const { folder, provider } = options
  const database = await createPostgresDatabase({ migrated: true })
  const ledger = join(folder, 'side-effects.jsonl')
  const key = `key of ${folder}`
  const removed = new AbortController()
  const signal = AbortSignal.any([removed.signal, AbortSignal.timeout(options.patienceMs)])
  const alive = new Set<FleetDaemon>()
  const interruptions: number[] = []
  let turn = 0
  let homes = 0

  /** Each time another one. */
  function nextUrl(): string {
    const daemons = [...alive]
    turn += 1
    return daemons[turn % daemons.length]?.url ?? 'http://127.0.0.1:9'
  }

  const client = createClient({ url: nextUrl, token, signal })

  function evidence(): Evidence {
    return {
      databasePath: '',
      messages: client.messages,
      sideEffects: readSideEffects(ledger),
      ledgerTools: crashToolNames,
      ...provider.callsOf(key),
      interruptions,
      settled: true,
      isShared: true,
    }
  }

  async function start({ crashAt, role }: { crashAt?: CrashPoint; role?: DaemonRole } = {}): Promise<FleetDaemon> {
    homes += 1
    const home = join(folder, `home-${homes}`)
    const port = await findFreePort()
    writeCrashHome(home, provider.url)
    appendFileSync(join(home, 'familiar.toml'), options.toml ?? '')
    const env = {
      CRASH_HOME: home,
      CRASH_LEDGER: ledger,
      CRASH_PORT: String(port),
      CRASH_KEY: key,
      FAMILIAR_TOKEN: token,
      FAMILIAR_DATABASE_URL: database.url,
      ...options.env,
      ...(role && { CRASH_ROLE: role }),
    }
    const child = startChild({ env, crashAt })
    const daemon: FleetDaemon = {
      child,
      url: `http://127.0.0.1:${port}`,
      async kill() {
        alive.delete(daemon)
        await child.kill()
        interruptions.push(Date.now())
      },
      async stop() {
        alive.delete(daemon)
        await child.stop()
        interruptions.push(Date.now())
      },
    }
    if (!(await child.ready)) throw new Error(`A daemon did not start: ${(await child.ended).errors}`)
    alive.add(daemon)
    return daemon
  }

  return {
    client,
    databaseUrl: database.url,
    interruptions,
    start,
    watch: (sessionId) => watchStream({ sessionId, token, url: nextUrl }),
    async retell(sessionId, count) {
      const watcher = watchStream({ sessionId, token, url: nextUrl })
      while (wholeEvents(watcher.events).length < count) {
        signal.throwIfAborted()
        await wait(20)
      }
      await watcher.stop()
      return wholeEvents(watcher.events)
    },
    recorded: () => readRecordedPostgres(database.url),
    async settle() {
      while ((await readRecordedPostgres(database.url)).inbox.some(({ state }) => state !== 'done')) {
        signal.throwIfAborted()
        await wait(200)
      }
    },
    audit: async () => auditRecorded(evidence(), await readRecordedPostgres(database.url)),
    async remove() {
      removed.abort()
      await Promise.all([...alive].map(({ child }) => child.kill()))
      await database.drop()
    },
  }
}
