import { afterEach, expect, it } from 'vitest'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'

let served: ServedFamiliar | undefined
afterEach(async () => {
  await served?.close()
  served = undefined
})

const base = '/api/v1/local/telegram'

it('SEC-5 codes are made and people taken out by this machine’s own command line alone', async () => {
  served = await serveFamiliar()
  const { call, localToken, tokenFor } = served
  const asOwner = await tokenFor('owner')
  for (const [path, more] of [
    [base, {}],
    [`${base}/contacts`, {}],
    [`${base}/codes`, { body: {} }],
    [`${base}/contacts/71`, { method: 'DELETE' }],
  ] as const) {
    expect((await call({ path, token: asOwner, ...more })).status, path).toBe(403)
  }
  const made = await call({ path: `${base}/codes`, body: {}, token: localToken })
  expect(made.status).toBe(201)
  const { code, link, expires_at } = JSON.parse(made.text) as Record<string, string>
  expect(code).toMatch(/^[2-9A-Z]{8}$/)
  expect(link).toBe(`https://t.me/familiar_test_bot?start=${code}`)
  expect(Date.parse(expires_at ?? '')).toBeGreaterThan(0)
  expect((await call({ path: `${base}/codes`, body: { user: 'nobody' }, token: localToken })).status).toBe(404)
  expect((await call({ path: `${base}/contacts/71`, method: 'DELETE', token: localToken })).status).toBe(404)
  expect((await call({ path: `${base}/contacts/x`, method: 'DELETE', token: localToken })).status).toBe(404)
  const status = await call({ path: base, token: localToken })
  expect(JSON.parse(status.text)).toMatchObject({ state: 'waiting', problem: 'it is a test' })
})
