import { seededRandom } from '../recall-scale/seeded-random.ts'
import { rounded } from '../statistics.ts'
import { type Costs, readCosts } from './measured-costs.ts'
import { exponential, simulateStations, type Visit } from './simulate-stations.ts'

/** Kept below: past it a wait grows faster than the load. */
const wantedUtilisation = 0.6
const coresPerDaemon = 1
const turnsAtOncePerDaemon = 50
const connectionsPerDaemon = 10
/** The assumed limits of one PostgreSQL; beyond them users are divided into cells with a database each. */
export const oneDatabase = { cores: 32, connections: 500, transactionsPerSecond: 10_000, terabytes: 4 }

export interface SizeFigures {
  users: number
  peakTurnsPerSecond: number
  cells: number
  daemons: number
  daemonCores: number
  databaseCores: number
  transactionsPerSecond: number
  notifiesPerSecond: number
  connectionsPerCell: number
  modelCallsAtOnce: number
  terabytesPerYear: number
  /** Of one cell, simulated: before a daemon's core, and before a core of the database. */
  daemonWaitP50Ms: number
  daemonWaitP95Ms: number
  databaseWaitP50Ms: number
  databaseWaitP95Ms: number
  /** How full one database would be without cells, what is fullest first. */
  limits: Record<string, number>
}

export interface SimulationReport {
  costs: Costs
  oneDatabase: typeof oneDatabase
  sizes: SizeFigures[]
}

export function simulateScale(options: {
  users: readonly number[]
  results: string
  /** Turns to simulate for each size. */
  turns?: number
}): SimulationReport {
  const costs = readCosts(options.results)
  const sizes = options.users.map((users) => simulateSize(users, costs, options.turns ?? 100_000))
  return { costs, oneDatabase, sizes }
}

function simulateSize(users: number, costs: Costs, turns: number): SizeFigures {
  const turnsPerDay = users * costs.turnsPerUserAndDay.value
  const perSecond = (turnsPerDay / 86_400) * costs.peak.value
  const transactions = perSecond * costs.unitsPerTurn.value
  const databaseCores = Math.max(1, (perSecond * costs.databaseMsPerTurn.value) / 1_000 / wantedUtilisation)
  const bytesPerTurn = costs.bytesPerTurn.value + costs.memoriesPerTurn.value * costs.bytesPerMemory.value
  const terabytesPerYear = (turnsPerDay * 365 * bytesPerTurn) / 1e12
  const modelCallsAtOnce = perSecond * costs.modelSeconds.value
  const daemonsFor = (share: number) =>
    Math.max(
      1,
      Math.ceil((perSecond * share * costs.turnCpuMs.value) / 1_000 / wantedUtilisation / coresPerDaemon),
      Math.ceil((modelCallsAtOnce * share) / turnsAtOncePerDaemon),
    )
  const limits = {
    cores: databaseCores / oneDatabase.cores,
    transactions: transactions / oneDatabase.transactionsPerSecond,
    connections: (daemonsFor(1) * connectionsPerDaemon) / oneDatabase.connections,
    storageAfterOneYear: terabytesPerYear / oneDatabase.terabytes,
  }
  const cells = Math.max(1, Math.ceil(Math.max(...Object.values(limits))))
  const daemonsPerCell = daemonsFor(1 / cells)
  const coresPerCell = Math.max(1, Math.ceil(databaseCores / cells))
  const [daemon, database] = simulateStations({
    stations: [
      { name: 'daemon', servers: daemonsPerCell * coresPerDaemon },
      { name: 'database', servers: coresPerCell },
    ],
    perSecond: perSecond / cells,
    calls: turns,
    visits: (random) => visitsOf(costs, random),
    random: seededRandom(7, users).next,
  })
  return {
    users,
    peakTurnsPerSecond: rounded(perSecond, 1),
    cells,
    daemons: daemonsPerCell * cells,
    daemonCores: daemonsPerCell * cells * coresPerDaemon,
    databaseCores: coresPerCell * cells,
    transactionsPerSecond: rounded(transactions, 0),
    notifiesPerSecond: rounded(perSecond * costs.notifiesPerTurn.value, 0),
    connectionsPerCell: daemonsPerCell * connectionsPerDaemon,
    modelCallsAtOnce: rounded(modelCallsAtOnce, 0),
    terabytesPerYear: rounded(terabytesPerYear, 3),
    daemonWaitP50Ms: rounded(daemon?.waitP50Ms ?? 0),
    daemonWaitP95Ms: rounded(daemon?.waitP95Ms ?? 0),
    databaseWaitP50Ms: rounded(database?.waitP50Ms ?? 0),
    databaseWaitP95Ms: rounded(database?.waitP95Ms ?? 0),
    limits: Object.fromEntries(
      Object.entries(limits)
        .sort(([, a], [, b]) => b - a)
        .map(([name, share]) => [name, rounded(share, 4)]),
    ),
  }
}

/** A turn: half of its work and units before the model answers, half after. */
function visitsOf(costs: Costs, random: () => number): Visit[] {
  const units = Math.max(2, Math.round(costs.unitsPerTurn.value))
  const step = (): Visit[] => [
    { station: 'daemon', ms: exponential(costs.turnCpuMs.value / units, random) },
    { station: 'database', ms: exponential(costs.databaseMsPerTurn.value / units, random) },
  ]
  const before = Array.from({ length: units >> 1 }, step).flat()
  const after = Array.from({ length: units - (units >> 1) }, step).flat()
  return [...before, { station: null, ms: exponential(costs.modelSeconds.value * 1_000, random) }, ...after]
}
