import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { createSilentTelemetry } from '../base/telemetry/telemetry.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { type Database, watchUnits } from './database.ts'

let database: Database
beforeEach(async () => {
  database = await openTestDatabase({ engine: 'sqlite' })
})
afterEach(() => database.close())

describe('write units', () => {
  it('SCALE-7 are measured, including failed ones, and retries are counted', async () => {
    const telemetry = createSilentTelemetry()
    const watched = watchUnits(database, telemetry)
    const row = { id: 'user', name: 'Ada', role: 'owner', created_at: 1 } as const
    await watched.write((writer) => writer.insertInto('users').values(row).execute())
    const refusing = watched.write(() => Promise.reject(new FamiliarError('conflict', 'Ada is here already')))
    await expect(refusing).rejects.toThrow('Ada')
    // Retries like PostgreSQL on a conflict.
    const meeting: Database = {
      ...database,
      write: (unit) =>
        database.write(async (writer) => {
          await unit(writer)
          return unit(writer)
        }),
    }
    await watchUnits(meeting, telemetry).write(async () => undefined)
    const readings = await telemetry.read()
    const points = (name: string) =>
      readings
        .find((reading) => reading.name === name)
        ?.points.map((point) => ({
          ...Object.fromEntries(point.labels),
          count: 'value' in point ? point.value : point.count,
        }))
    const unit = { 'db.system.name': 'sqlite', 'db.operation.name': 'write' }
    expect(points('db.client.operation.duration')).toEqual([
      { ...unit, count: 2 },
      { ...unit, 'error.type': 'conflict', count: 1 },
    ])
    expect(points('familiar.database.retries')).toEqual([{ 'db.system.name': 'sqlite', count: 1 }])
    expect(JSON.stringify(readings)).not.toContain('Ada')
  })
})
