import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { systemClock } from '../base/clock.ts'
import { createWorkContext } from '../base/work.ts'
import { openObservation } from './observation.ts'

const folder = mkdtempSync(join(tmpdir(), 'familiar-observation-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

it('DAEMON-1 a daemon is ready only while its disk has space for what it would acknowledge', async () => {
  let free = 1024 ** 3
  const database = await openTestDatabase({ directory: folder, clock: systemClock() })
  closers.push(database.close)
  const observation = openObservation({
    settings: { traces: null, metrics: null, headers: {}, resource: {}, timeoutMs: 1_000, metricsIntervalMs: 60_000 },
    work: createWorkContext(),
    version: '1',
    redact: (text) => text,
    clock: systemClock(),
    freeBytes: async () => free,
  })
  closers.push(observation.close)
  observation.watch({ conversations: { load: () => ({ running: 0, waiting: 0 }) as never }, database })
  observation.ready()
  expect(await observation.http.health.isReady()).toBe(true)
  free = 1_000
  expect(await observation.http.health.isReady()).toBe(false)
})
