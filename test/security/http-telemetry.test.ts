import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClientContexts } from '../../src/tools/client-context.ts'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'

const place = { city: 'Valletta', country: 'Malta', lat: 35.8762, lon: 14.5366 }

let served: ServedFamiliar
beforeEach(async () => {
  served = await serveFamiliar()
})
afterEach(() => served.close())

function told() {
  const { database, userId } = served.familiar
  return createClientContexts({ database, clock: { now: Date.now, after: () => () => {} } }).telemetryFor(userId)
}

describe('PUT /api/v1/telemetry', () => {
  it('TOOL-13 takes the place with consent', async () => {
    const body = { locale: 'en-MT', ...place, place_consent: true }
    const { status, json } = await served.call({ method: 'PUT', path: '/api/v1/telemetry', body })
    expect({ status, json }).toEqual({ status: 200, json: { has_place: true, kept_until: expect.any(String) } })
    expect(await told()).toMatchObject({ locale: 'en-MT', ...place })
  })

  it('TOOL-13 passes over it without', async () => {
    const { json } = await served.call({
      method: 'PUT',
      path: '/api/v1/telemetry',
      body: { device: 'phone', ...place },
    })
    expect(json.has_place).toBe(false)
    expect(await told()).toMatchObject({ device: 'phone', city: null, lat: null })
  })

  it.each([{ lat: 91 }, { lon: 'east' }, { locale: 'x'.repeat(101) }, { ip: '1.2.3.4' }])(
    'refuses %j',
    async (body) => {
      expect((await served.call({ method: 'PUT', path: '/api/v1/telemetry', body })).status).toBe(400)
    },
  )
})

describe('metadata.telemetry of a message', () => {
  it('TOOL-13 is taken, and stays out of the log', async () => {
    const telemetry = { language: 'en-US', device: 7, ...place, place_consent: true, unknown: 1 }
    const body = { message: 'Hello', metadata: { telemetry, page: 'home' } }
    expect((await served.call({ path: '/api/v1/chat', body })).status).toBe(200)
    expect(await told()).toMatchObject({ language: 'en-US', device: null, ...place })
    const rows = await served.familiar.database.read.selectFrom('session_events').select('data').execute()
    expect(JSON.stringify(rows)).toContain('home')
    expect(JSON.stringify(rows)).not.toContain('Valletta')
    const inbox = await served.familiar.database.read.selectFrom('inbox').select('data').execute()
    expect(JSON.stringify(inbox)).not.toContain('Valletta')
  })

  it('TOOL-13 is ignored if it is not an object', async () => {
    const body = { message: 'Hello', metadata: { telemetry: 'here' } }
    expect((await served.call({ path: '/api/v1/chat', body })).status).toBe(200)
    expect(await told()).toMatchObject({ language: null })
  })
})
