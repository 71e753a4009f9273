import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'
import { putOut } from './put-out.ts'

describe('the outbox over HTTP', () => {
  let served: ServedFamiliar
  beforeAll(async () => {
    served = await serveFamiliar()
  })
  afterAll(() => served.close())

  it('OUT-1 shows what goes out with its state, and cancels what waits', async () => {
    const id = await putOut(served, 'Hello \u202ethere')
    const listed = await served.call({ path: '/api/v1/outbox?state=pending&channel=telegram' })
    expect(listed.json).toMatchObject({
      items: [{ id, channel: 'telegram', address: '7', state: 'pending', attempts: 0, preview: 'Hello there' }],
      counts: { pending: 1, sending: 0, sent: 0, unknown: 0, failed: 0, cancelled: 0 },
    })
    expect((await served.call({ path: '/api/v1/outbox?channel=callback' })).json).toMatchObject({ items: [] })
    expect((await served.call({ path: '/api/v1/outbox?state=lost' })).status).toBe(400)
    const shown = await served.call({ path: `/api/v1/outbox/${id}` })
    expect(shown.json).toMatchObject({ id, payload: { kind: 'text' }, error: null, external_id: null })
    const cancelled = await served.call({ path: `/api/v1/outbox/${id}/cancel`, body: {} })
    expect(cancelled.json).toMatchObject({ id, state: 'cancelled', next_at: null })
    expect((await served.call({ path: `/api/v1/outbox/${id}/cancel`, body: {} })).status).toBe(409)
    expect((await served.call({ path: `/api/v1/outbox/${id}/retry`, body: {} })).status).toBe(409)
    expect((await served.call({ path: '/api/v1/outbox/nothing/retry', body: {} })).status).toBe(404)
  })
})
