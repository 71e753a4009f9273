import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { waitFor } from '../../test/support/wait-for.ts'
import type { Database } from '../storage/database.ts'
import { type ClientContexts, createClientContexts } from './client-context.ts'

const minute = 60_000
const valletta = { city: 'Valletta', country: 'Malta', lat: 35.8762, lon: 14.5366 }
const nothing = {
  time: '2026-11-15T09:00:00Z',
  locale: null,
  language: null,
  city: null,
  country: null,
  lat: null,
  lon: null,
  device: null,
}

let home: string
let clock: ManualClock
let database: Database
let telemetry: ClientContexts

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'familiar-telemetry-'))
  clock = createManualClock()
  database = await openTestDatabase({ directory: home, clock })
  await database.write(async (writer) => {
    for (const id of ['anna', 'ben']) {
      await writer.insertInto('users').values({ id, name: id, role: 'user', created_at: 0 }).execute()
    }
  })
  telemetry = createClientContexts({ database, clock })
})
afterEach(async () => {
  telemetry.close()
  await database.close()
  await rm(home, { recursive: true, force: true })
})

it('TOOL-13 has every field, null if unknown, and the current time', async () => {
  expect(await telemetry.telemetryFor('anna')).toEqual(nothing)
})

it("TOOL-13 returns the last client's data, for that user only", async () => {
  await telemetry.keep('anna', { locale: 'en-MT', device: 'phone', placeConsent: false })
  await telemetry.keep('anna', { language: 'en-US', ...valletta, placeConsent: true })
  await clock.advance(minute)
  const expected = { ...nothing, time: '2026-11-15T09:01:00Z', language: 'en-US', ...valletta }
  expect(await telemetry.telemetryFor('anna')).toEqual(expected)
  expect(await telemetry.telemetryFor('ben')).toEqual({ ...nothing, time: '2026-11-15T09:01:00Z' })
})

it('TOOL-13 stores no location without permission, and deletes it when permission is withdrawn', async () => {
  expect(await telemetry.keep('anna', { locale: 'en-MT', ...valletta, placeConsent: false })).toMatchObject({
    hasPlace: false,
  })
  expect(await telemetry.telemetryFor('anna')).toEqual({ ...nothing, locale: 'en-MT' })
  await telemetry.keep('anna', { ...valletta, placeConsent: true })
  await telemetry.keep('anna', { ...valletta, placeConsent: false })
  const rows = await database.read.selectFrom('client_telemetry').selectAll().execute()
  expect(JSON.stringify(rows)).not.toContain('Valletta')
})

async function keptOf(): Promise<string[]> {
  const rows = await database.read.selectFrom('client_telemetry').select('user_id').orderBy('user_id').execute()
  return rows.map((row) => row.user_id)
}

it('TOOL-13 returns it for an hour', async () => {
  await telemetry.keep('anna', { ...valletta, placeConsent: true })
  telemetry.close()
  await clock.advance(59 * minute)
  expect(await telemetry.telemetryFor('anna')).toMatchObject(valletta)
  await clock.advance(minute)
  expect(await telemetry.telemetryFor('anna')).toEqual({ ...nothing, time: '2026-11-15T10:00:00Z' })
  expect(await keptOf()).toEqual([])
})

it('TOOL-13 leaves nothing in the file after an hour, even without a request', async () => {
  await telemetry.keep('anna', { ...valletta, placeConsent: true })
  await clock.advance(30 * minute)
  await telemetry.keep('ben', { ...valletta, placeConsent: true })
  await clock.advance(30 * minute)
  await waitFor(async () => expect(await keptOf()).toEqual(['ben']))
  await waitFor(() => expect(clock.timers()).toBe(1))
  await clock.advance(30 * minute)
  await waitFor(async () => expect(await keptOf()).toEqual([]))
})

it('TOOL-13 deletes data that expired while Familiar was stopped', async () => {
  await telemetry.keep('anna', { ...valletta, placeConsent: true })
  telemetry.close()
  clock.setTime(clock.now() + 61 * minute)
  await createClientContexts({ database, clock }).start()
  expect(await keptOf()).toEqual([])
})
