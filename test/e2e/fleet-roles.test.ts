import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { whyNoPostgres } from '../support/postgres/start-postgres.ts'
import { type FleetBench, openFleetBench } from './fleet-bench.ts'

let bench: FleetBench
beforeEach(async () => {
  bench = await openFleetBench()
})
afterEach(() => bench.close())

describe.skipIf(whyNoPostgres())('roles of daemons', () => {
  it('SCALE-8 one that answers turns serves its health and nothing else; one that takes messages in runs none', async () => {
    const front = await bench.start('api')
    const accepted = await front.request('POST', '/api/v1/notify', { message: 'Hello', session: 'main' })
    expect(accepted.status).toBeLessThan(300)
    expect((await fetch(`${front.daemon.url}/readyz`)).status).toBe(200)
    const worker = await bench.start('worker')
    await bench.fake.until(() => bench.fake.requests.length === 1)
    const status = async (path: string) => (await worker.request('GET', path)).status
    expect([await status('/healthz'), await status('/readyz'), await status('/metrics')]).toEqual([200, 200, 200])
    expect(await status('/api/v1/sessions')).toBe(404)
    expect((await worker.request('POST', '/api/v1/chat', { message: 'Hello' })).status).toBe(404)
    const holders = await bench.query<{ role: string }>(
      'select role from session_holders join daemons on daemons.id = daemon_id',
    )
    expect(holders).toEqual([{ role: 'worker' }])
  })

  it('SUB-1 a sub-agent runs at another daemon than the one that spawned it, and its answer comes back', async () => {
    const front = await bench.start('api')
    const oneAtATime = { turnsAtOnce: 1 }
    await Promise.all([bench.start('worker', oneAtATime), bench.start('worker', oneAtATime)])
    // Two sub-agents that are answered only when both have asked: one worker cannot run them both.
    const bothAsked = Promise.withResolvers<void>()
    let asked = 0
    bench.fake.respondWith(async ({ lastUserText, toolResults }) => {
      if (toolResults.length > 0) return { text: `told: ${toolResults.map(({ text }) => text).join()}` }
      if (lastUserText.includes('What colour')) return { toolCalls: [spawn('the sky'), spawn('the sea')] }
      asked += 1
      if (asked === 2) bothAsked.resolve()
      await bothAsked.promise
      return { text: 'blue' }
    })
    const { reply, session_id } = await front.chat('What colour is it out there?', { session: 'out there' })
    expect(reply.match(/blue/g)).toHaveLength(2)
    const places = await bench.query<{ apart: boolean }>(
      `select parent.daemon_id <> child.daemon_id as apart from spawns
       join session_holders parent on parent.session_id = parent_session_id
       join sessions on sessions.channel = 'subagent' and sessions.contact like '%' || spawns.id || '%'
       join session_holders child on child.session_id = sessions.id
       where parent_session_id = '${session_id}'`,
    )
    expect(places.map(({ apart }) => apart).sort()).toEqual([false, true])
  })
})

const spawn = (place: string) => ({ name: 'sessions_spawn', input: { task: `Look at ${place}.` } })
