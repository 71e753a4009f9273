import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readCosts } from '../../bench/simulate/measured-costs.ts'
import { oneDatabase, simulateScale } from '../../bench/simulate/simulate-scale.ts'

let results = ''
beforeEach(() => {
  results = mkdtempSync(join(tmpdir(), 'familiar-simulate-'))
})
afterEach(() => rmSync(results, { recursive: true }))

const write = (file: string, result: unknown) => writeFileSync(join(results, file), JSON.stringify({ result }))

it('uses measured costs, the cluster before the peers, and names the assumed ones', () => {
  write('peers.json', { work: [{ name: 'Familiar', processorMsPerTurn: 9 }] })
  expect(readCosts(results).turnCpuMs).toEqual({ value: 9, from: 'peers.json' })
  write('cluster.json', { turnCpuMs: 21, unitsPerTurn: 5, databaseMsPerTurn: null })
  const costs = readCosts(results)
  expect(costs.turnCpuMs).toEqual({ value: 21, from: 'cluster.json' })
  expect(costs.unitsPerTurn).toEqual({ value: 5, from: 'cluster.json' })
  expect(costs.databaseMsPerTurn.from).toBe('assumed')
})

it('divides users into cells of which none asks more of its database than one bears', () => {
  const { sizes } = simulateScale({ users: [1_000, 1_000_000, 100_000_000], results, turns: 5_000 })
  expect(sizes[0]).toMatchObject({ cells: 1, daemons: 1, databaseCores: 1 })
  for (const { cells, databaseCores, transactionsPerSecond, connectionsPerCell, terabytesPerYear } of sizes) {
    expect(databaseCores / cells).toBeLessThanOrEqual(oneDatabase.cores)
    expect(transactionsPerSecond / cells).toBeLessThanOrEqual(oneDatabase.transactionsPerSecond)
    expect(connectionsPerCell).toBeLessThanOrEqual(oneDatabase.connections)
    expect(terabytesPerYear / cells).toBeLessThanOrEqual(oneDatabase.terabytes)
  }
  const cells = sizes.map((size) => size.cells)
  expect(cells).toEqual(cells.toSorted((a, b) => a - b))
})
