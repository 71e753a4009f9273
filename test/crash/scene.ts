import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Evidence } from './audit/evidence.ts'
import type { Recorded } from './audit/recorded.ts'
import { type Client, createClient } from './client.ts'
import { writeCrashHome } from './crash-home.ts'
import { crashToolNames } from './crash-tools.ts'
import type { Provider } from './provider.ts'
import { createSceneDatabase, type SceneDatabase } from './scene-database.ts'
import { readSideEffects } from './side-effect-ledger.ts'
import { type Child, type CrashPoint, type End, startChild } from './start-child.ts'

export const token = 'fam_xJ3kQ9vLr2Tz8WbYd5HsNc7MgPf4AeUi6Ko1BqXjRw'

/** One home with everything around it: its daemons, one after another, its client, and what happened outside. */
export interface Scene {
  folder: string
  client: Client
  url: string
  database: SceneDatabase
  /** For programs of this home other than the daemon that `start` starts. */
  env: Record<string, string>
  /** Moments at which work may have been cut off; `fallen` adds its own. */
  interruptions: number[]
  evidence(): Evidence
  start(crashAt?: CrashPoint): Child
  /** Waits for a daemon that kills itself or was killed, and remembers when. Any other end of it is a violation. */
  fallen(child: Child): Promise<string[]>
  /** Resolves when nothing runs and nothing waits. */
  settle(): Promise<void>
  /** The auditor's findings once everything has settled. */
  audit(): Promise<string[]>
  /** Its findings in the database as the dead daemon left it. */
  auditRemains(): Promise<string[]>
  /** Kills what still runs and takes everything away. */
  remove(): Promise<void>
}

/** A scene that continues another one, which must have ended, or one with an empty home. */
export async function createScene(options: {
  folder: string
  provider: Provider
  from?: Scene
  /** How long a wait in this scene may take before it counts as stuck. */
  patienceMs: number
}): Promise<Scene> {
  const { folder, provider, from } = options
  const home = join(folder, 'home')
  const ledger = join(folder, 'side-effects.jsonl')
  const key = `key of ${folder}`
  if (from) cpSync(from.folder, folder, { recursive: true })
  else {
    mkdirSync(folder, { recursive: true })
    writeCrashHome(home, provider.url)
  }
  const database = await (from ? from.database.copy(home) : createSceneDatabase(home))
  const removed = new AbortController()
  const signal = AbortSignal.any([removed.signal, AbortSignal.timeout(options.patienceMs)])
  const earlier = from?.evidence()
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const client = createClient({
    url,
    token,
    ...(earlier && { earlier: earlier.messages }),
    signal,
  })
  const interruptions: number[] = []
  let newest: Child | undefined
  const env = {
    CRASH_HOME: home,
    CRASH_LEDGER: ledger,
    CRASH_PORT: String(port),
    CRASH_KEY: key,
    FAMILIAR_TOKEN: token,
    ...database.env,
  }

  function evidence(): Evidence {
    const { requests, rejections } = provider.callsOf(key)
    return {
      databasePath: join(home, 'familiar.db'),
      messages: client.messages,
      sideEffects: readSideEffects(ledger),
      ledgerTools: crashToolNames,
      rejections,
      requests: requests + (earlier?.requests ?? 0),
      interruptions,
      settled: true,
    }
  }

  return {
    folder,
    client,
    url,
    database,
    env,
    interruptions,
    evidence,
    start(crashAt) {
      newest = startChild({ env, crashAt })
      return newest
    },
    async fallen(child) {
      const end = await child.ended
      interruptions.push(Date.now())
      return end.signal === 'SIGKILL' ? [] : [`fallen daemon: it ended by itself, ${describeEnd(end)}`]
    },
    async settle() {
      while ((await client.load()) !== 0 || (database.engine === 'postgres' && hasOpen(await database.recorded()))) {
        signal.throwIfAborted()
        await wait(5)
      }
    },
    audit: () => database.audit(evidence()),
    auditRemains: () => database.auditRemains(evidence()),
    async remove() {
      removed.abort()
      await newest?.kill()
      await database.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** With several daemons, none of them has the waiting messages in memory. */
function hasOpen({ inbox }: Recorded): boolean {
  return inbox.some(({ state }) => state !== 'done')
}

function describeEnd({ code, signal, errors }: End): string {
  return `code ${code}, signal ${signal}: ${errors.slice(-2_000)}`
}

/** Below the range that the system gives to connections, so that none of those takes it while the daemon is down. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000)
    const server = createServer()
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!free) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
