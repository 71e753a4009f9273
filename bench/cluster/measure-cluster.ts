import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readDaemonInfo } from '../../src/daemon/daemon-lock.ts'
import { parseWire } from '../../src/protocol/operation.ts'
import { userTokenReplySchema } from '../../src/protocol/users.ts'
import { type RunningPostgres, startPostgres } from '../../test/support/postgres/start-postgres.ts'
import { timed } from '../contestants/ask-contestants.ts'
import { type Contestant, familiar, prepareHome } from '../contestants/contestant.ts'
import { type ProcessUnderTest, startProcess } from '../process-under-test.ts'
import { median, percentile, rounded } from '../statistics.ts'
import { type DatabaseWork, readDatabaseWork } from './database-work.ts'

const root = join(import.meta.dirname, '../..')

export interface ClusterFigures {
  name: string
  daemons: number
  turnsPerSecond: number
  turnP50Ms: number
  turnP95Ms: number
  /** Of the daemons, all together. */
  turnCpuMs: number
  databaseMsPerTurn: number
  unitsPerTurn: number
  /** Of a hundred transactions, those that were run again. */
  repeatedPercent: number
  /** Of the write-ahead log, and what stays of it. */
  walBytesPerTurn: number
  bytesPerTurn: number
}

export interface ClusterReport {
  turns: number
  sessions: number
  contestants: ClusterFigures[]
  /** Of the largest number of daemons on PostgreSQL: what the simulation reads. */
  turnCpuMs: number
  databaseMsPerTurn: number
  unitsPerTurn: number
  bytesPerTurn: number
  limit: string
}

/**
 * The same work by one daemon on a file and by several on a server, each in a fresh database, with a disk that is waited
 * for. Every session is of a user of its own; and once all are of one user, who is the worst there is: the sums of what was
 * spent are rows that every turn writes.
 */
export async function measureCluster(options: {
  turns: number
  sessions: number
  daemons: readonly number[]
  /** The number of measurements; the one with the median turns per second is reported. */
  rounds: number
  say(line: string): void
}): Promise<ClusterReport> {
  const { turns, sessions, say } = options
  const model = await startProcess({
    args: [join(root, 'test/support/fake-model/main.ts'), '--default', join(root, 'bench/echo-message.ts')],
    healthPath: '/v1/models',
  })
  const server = await startPostgres({ settings: { fsync: 'on', full_page_writes: 'on' } })
  const folder = mkdtempSync(join(tmpdir(), 'familiar-cluster-'))
  const work = { turns, sessions }
  try {
    const many = options.daemons.map((daemons) => ({ name: `PostgreSQL, ${daemons}`, daemons, users: 'many' as const }))
    const most = options.daemons.at(-1) ?? 1
    const asked: Pick<OneMeasurement, 'name' | 'daemons' | 'users'>[] = [
      { name: 'SQLite', daemons: 1, users: 'many' },
      ...many,
      { name: `PostgreSQL, ${most}, one user`, daemons: most, users: 'one' },
    ]
    const measured = asked.map((): ClusterFigures[] => [])
    // One after another, several times: whatever else the machine does meanwhile falls on all of them.
    for (let round = 1; round <= options.rounds; round += 1) {
      for (const [index, one] of asked.entries()) {
        say(`${round}/${options.rounds} ${one.name}`)
        const place = one.name === 'SQLite' ? {} : { place: { server, database: `cluster_${index}_${round}` } }
        const own = join(folder, `${index}-${round}`)
        measured[index]?.push(await measureOne({ ...work, ...one, model, folder: own, ...place }))
      }
    }
    const contestants = measured.map(middleOf)
    const { turnCpuMs = 0, databaseMsPerTurn = 0, unitsPerTurn = 0, bytesPerTurn = 0 } = contestants[1] ?? {}
    const limit = `A core of the database does ${rounded(1_000 / databaseMsPerTurn, 0)} turns a second, a core of daemons ${rounded(1_000 / turnCpuMs, 0)}: past ${rounded(turnCpuMs / databaseMsPerTurn, 1)} cores of daemons for each of the database, the database is the limit.`
    return { turns, sessions, contestants, turnCpuMs, databaseMsPerTurn, unitsPerTurn, bytesPerTurn, limit }
  } finally {
    await server.stop()
    await model.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

function middleOf(figures: readonly ClusterFigures[]): ClusterFigures {
  const sorted = figures.toSorted((one, other) => one.turnsPerSecond - other.turnsPerSecond)
  return sorted[Math.floor(sorted.length / 2)] as ClusterFigures
}

interface OneMeasurement {
  name: string
  turns: number
  sessions: number
  daemons: number
  users: 'one' | 'many'
  model: ProcessUnderTest
  folder: string
  /** Absent: a file. */
  place?: { server: RunningPostgres; database: string }
}

async function measureOne(options: OneMeasurement): Promise<ClusterFigures> {
  const { name, turns, sessions, daemons, model, folder, place } = options
  if (place) await createDatabase(place)
  const env = place ? { FAMILIAR_DATABASE_URL: place.server.urlOf(place.database) } : {}
  const running: { contestant: Contestant; target: ProcessUnderTest }[] = []
  try {
    for (let number = 0; number < daemons; number += 1) {
      const home = join(folder, String(number))
      await prepareHome(home, model.url, { keepsConversations: false })
      const contestant = familiar(name, home, env)
      running.push({ contestant, target: await contestant.start() })
    }
    const tokens = options.users === 'one' ? [] : await addUsers(join(folder, '0'), sessions)
    await talk(running, { sessions, turns: 2, tokens })
    const before = await stateOf(running, place)
    const { times, seconds } = await talk(running, { sessions, turns, tokens })
    const after = await stateOf(running, place)
    return figuresOf(options, { times, seconds, before, after })
  } finally {
    await Promise.all(running.map(({ target }) => target.stop()))
  }
}

/** Their tokens. */
async function addUsers(home: string, count: number): Promise<string[]> {
  const daemon = readDaemonInfo(home)
  if (!daemon) throw new Error(`No daemon runs in ${home}`)
  const tokens: string[] = []
  for (let number = 0; number < count; number += 1) {
    const response = await fetch(`${daemon.url}/api/v1/local/users`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${daemon.credential}` },
      body: JSON.stringify({ name: `user-${number}` }),
    })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    tokens.push(parseWire(userTokenReplySchema, await response.json()).token)
  }
  return tokens
}

/** A session says one thing after the other, each to another daemon. */
async function talk(
  running: readonly { contestant: Contestant; target: ProcessUnderTest }[],
  { sessions, turns, tokens }: { sessions: number; turns: number; tokens: readonly string[] },
): Promise<{ times: number[]; seconds: number }> {
  const times: number[] = []
  const begin = performance.now()
  const person = async (_: unknown, session: number) => {
    for (let turn = 0; turn < turns; turn += 1) {
      const at = running[(session + turn) % running.length]
      if (at)
        times.push(await timed(() => at.contestant.chat(at.target, `s${session}`, `message ${turn}`, tokens[session])))
    }
  }
  await Promise.all(Array.from({ length: sessions }, person))
  return { times, seconds: (performance.now() - begin) / 1_000 }
}

interface State {
  daemonsMs: number
  database: DatabaseWork
}

async function stateOf(
  running: readonly { target: ProcessUnderTest }[],
  place: OneMeasurement['place'],
): Promise<State> {
  const none = { processorMs: 0, commits: 0, rollbacks: 0, walBytes: 0, storedBytes: 0 }
  return {
    daemonsMs: running.reduce((sum, { target }) => sum + target.processorMs(), 0),
    database: place ? await readDatabaseWork(place.server, place.database) : none,
  }
}

function figuresOf(
  { name, turns, sessions, daemons }: OneMeasurement,
  measured: { times: readonly number[]; seconds: number; before: State; after: State },
): ClusterFigures {
  const { times, seconds, before, after } = measured
  const all = turns * sessions
  const grown = (of: keyof DatabaseWork) => after.database[of] - before.database[of]
  return {
    name,
    daemons,
    turnsPerSecond: rounded(all / seconds, 0),
    turnP50Ms: rounded(median(times), 1),
    turnP95Ms: rounded(percentile(times, 0.95), 1),
    turnCpuMs: rounded((after.daemonsMs - before.daemonsMs) / all),
    databaseMsPerTurn: rounded(grown('processorMs') / all),
    unitsPerTurn: rounded(grown('commits') / all, 1),
    repeatedPercent: rounded((100 * grown('rollbacks')) / Math.max(1, grown('commits')), 1),
    walBytesPerTurn: rounded(grown('walBytes') / all, 0),
    bytesPerTurn: rounded(grown('storedBytes') / all, 0),
  }
}

async function createDatabase({ server, database }: { server: RunningPostgres; database: string }): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: server.urlOf('postgres') })
  await client.connect()
  await client.query(`create database ${database}`)
  await client.end()
}
