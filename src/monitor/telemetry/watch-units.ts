import type { Database } from '../../storage/database.ts'
import { errorType } from './attributes.ts'
import type { Telemetry } from './telemetry.ts'

/** The same database, with how long its units of writing take and how often they are run again. */
export function watchUnits<Opened extends Database>(database: Opened, telemetry: Telemetry): Opened {
  const system = { 'db.system.name': database.engine === 'postgres' ? 'postgresql' : database.engine }
  return {
    ...database,
    async write<T>(...[unit, options]: Parameters<typeof database.write<T>>): Promise<T> {
      const startedAt = performance.now()
      let runs = 0
      let failure: { 'error.type'?: string } = {}
      try {
        return await database.write((writer) => {
          runs += 1
          return unit(writer)
        }, options)
      } catch (cause) {
        failure = { 'error.type': errorType(cause) }
        throw cause
      } finally {
        const labels = { ...system, 'db.operation.name': 'write', ...failure }
        telemetry.record('db.client.operation.duration', labels, (performance.now() - startedAt) / 1_000)
        telemetry.add('familiar.database.retries', system, runs - 1)
      }
    },
  }
}
