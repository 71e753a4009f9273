import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Cost {
  value: number
  /** The file that it was read from, or a note that it is an assumption. */
  from: string
}

/** The costs of a turn. All except the habits of users should be measured; each names its source. */
export interface Costs {
  turnCpuMs: Cost
  unitsPerTurn: Cost
  databaseMsPerTurn: Cost
  notifiesPerTurn: Cost
  bytesPerTurn: Cost
  bytesPerMemory: Cost
  memoriesPerTurn: Cost
  modelSeconds: Cost
  turnsPerUserAndDay: Cost
  /** The busiest hour beside the mean one. */
  peak: Cost
}

const assumed: Record<keyof Costs, number> = {
  turnCpuMs: 12,
  unitsPerTurn: 8,
  databaseMsPerTurn: 8,
  notifiesPerTurn: 6,
  bytesPerTurn: 6_000,
  bytesPerMemory: 3_400,
  memoriesPerTurn: 2,
  modelSeconds: 6,
  turnsPerUserAndDay: 10,
  peak: 3,
}

/** Reads what the benches have written; what is missing is assumed, and said to be. */
export function readCosts(folder: string): Costs {
  const costs = Object.fromEntries(
    Object.entries(assumed).map(([name, value]) => [name, { value, from: 'assumed' }]),
  ) as unknown as Costs
  const take = (name: keyof Costs, value: unknown, from: string) => {
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) costs[name] = { value, from }
  }
  const peers = resultOf(folder, 'peers.json') as { work?: { name: string; processorMsPerTurn: number }[] } | undefined
  take('turnCpuMs', peers?.work?.find(({ name }) => name === 'Familiar')?.processorMsPerTurn, 'peers.json')
  const cluster = resultOf(folder, 'cluster.json') as Partial<Record<keyof Costs, unknown>> | undefined
  for (const name of Object.keys(assumed) as (keyof Costs)[]) take(name, cluster?.[name], 'cluster.json')
  return costs
}

function resultOf(folder: string, file: string): unknown {
  const path = join(folder, file)
  if (!existsSync(path)) return undefined
  return (JSON.parse(readFileSync(path, 'utf8')) as { result?: unknown }).result
}
