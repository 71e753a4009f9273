import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { whyNoPostgres } from '../support/postgres/start-postgres.ts'
import { createGate, type FleetBench, openFleetBench } from './fleet-bench.ts'

const patience = { timeout: 15_000 }
let bench: FleetBench

beforeEach(async () => {
  bench = await openFleetBench()
})
afterEach(() => bench.close())

async function ends(): Promise<{ session: string; outcome: string }[]> {
  const rows = await bench.query<{ contact: string; data: string }>(
    `select contact, data from session_events join sessions on sessions.id = session_id
     where type = 'turn_ended' order by at`,
  )
  return rows.map(({ contact, data }) => ({ session: contact, outcome: JSON.parse(data).outcome }))
}

const requestsFor = (word: string) => bench.fake.requests.filter(({ bytes }) => bytes.includes(word)).length

describe.skipIf(whyNoPostgres())('a daemon that is asked to stop', () => {
  it('SCALE-8 says that it takes no work, ends what runs, and leaves the rest to others', async () => {
    const front = await bench.start('api')
    const leaving = await bench.start('worker')
    const open = createGate(bench.fake)
    await front.request('POST', '/api/v1/notify', { message: 'A long story', session: 'long' })
    await bench.fake.until(() => requestsFor('A long story') > 0)
    const closed = leaving.daemon.close(60_000)
    const readiness = async () => (await fetch(`${leaving.daemon.url}/readyz`)).status
    expect(await readiness()).toBe(503)
    expect((await fetch(`${leaving.daemon.url}/healthz`)).status).toBe(200)
    await front.request('POST', '/api/v1/notify', { message: 'Something else', session: 'other' })
    const staying = await bench.start('worker')
    await bench.fake.until(() => requestsFor('Something else') > 0)
    expect(await ends()).toEqual([])
    open()
    await closed
    await expect.poll(async () => (await ends()).length, patience).toBe(2)
    expect(await ends()).toEqual(
      expect.arrayContaining([
        { session: 'long', outcome: 'completed' },
        { session: 'other', outcome: 'completed' },
      ]),
    )
    expect([requestsFor('A long story'), requestsFor('Something else')]).toEqual([1, 1])
    const living = await bench.query<{ role: string }>('select role from daemons order by started_at')
    expect(living.map(({ role }) => role)).toEqual(['api', 'worker'])
    expect((await fetch(`${staying.daemon.url}/readyz`)).status).toBe(200)
  })

  it('SCALE-8 hands on what does not end in time', async () => {
    const front = await bench.start('api')
    const leaving = await bench.start('worker')
    bench.fake.reply({ hang: true })
    const answered = front.chat('A long story', { session: 'long' })
    await bench.fake.until(() => requestsFor('A long story') > 0)
    await bench.start('worker')
    await leaving.daemon.close(100)
    expect((await answered).outcome).toBe('completed')
    expect(await ends()).toEqual([{ session: 'long', outcome: 'completed' }])
    expect(requestsFor('A long story')).toBe(2)
  })
})
