import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { createManualClock } from '../support/manual-clock.ts'
import { testEngine } from '../support/open-test-database.ts'
import { serveFamiliar } from './http-support.ts'

// For PostgreSQL see src/storage/postgres/full-disk.test.ts.
describe.skipIf(testEngine === 'postgres')('a full disk', () => {
  it('SEC-20 answers 503 if the disk is full, loses nothing that it accepted, and continues when there is room', async () => {
    const clock = createManualClock()
    const served = await serveFamiliar({ clock, settings: { maxBodyBytes: 1_000_000 } })
    const { database, conversations, userId } = served.familiar
    const setLimit = (pages: number) =>
      database.write((writer) => sql`pragma max_page_count = ${sql.lit(pages)}`.execute(writer))
    const notify = (index: number) =>
      served.call({
        path: '/api/v1/notify',
        body: { message: `${index} ${'x'.repeat(50_000)}`, session: `contact ${index}` },
      })

    await setLimit(300)
    const taken: number[] = []
    let refused: Awaited<ReturnType<typeof notify>> | undefined
    for (let index = 0; index < 100 && !refused; index++) {
      const answer = await notify(index)
      if (answer.status === 202) taken.push(index)
      else refused = answer
    }
    expect(refused).toMatchObject({ status: 503, json: { code: 'storage_full' } })
    expect(taken.length).toBeGreaterThan(2)
    expect((await served.call({ path: '/api/v1/sessions' })).status).toBe(200)

    await setLimit(1_000_000)
    expect((await notify(1000)).status).toBe(202)
    for (let i = 0; i < 200 && conversations.load().waiting + conversations.load().running > 0; i++) {
      await clock.advance(1_000)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const sessions = await conversations.sessions(userId)
    const answered = await Promise.all(
      sessions.map(async ({ id, contact }) => {
        const ends = (await conversations.history(userId, id)).filter(({ type }) => type === 'turn_ended')
        return `${contact}: ${ends.length}`
      }),
    )
    expect(answered.sort()).toEqual([...taken, 1000].map((index) => `contact ${index}: 1`).sort())
    await served.close()
  })
})
