import type { Clock } from '../base/clock.ts'
import { parseJson } from '../base/json.ts'
import type { TelemetryReply, TelemetryRequest } from '../protocol/trigger-api.ts'
import type { Database } from '../storage/database.ts'
import { type Telemetry, telemetrySchema } from './contract/telemetry.ts'

const keptForMs = 60 * 60_000

const keptSchema = telemetrySchema.omit({ time: true })

/**
 * What the client that a user spoke through last told of itself: for an hour, then it is forgotten. Of the place nothing
 * is kept without the user's consent.
 */
export interface ClientTelemetry {
  /** In place of what was told before. */
  keep(userId: string, told: TelemetryRequest): Promise<TelemetryReply>
  /** Every field, null where it is not known. The time is always now. */
  telemetryFor(userId: string): Promise<Telemetry>
  /** Forgets what has grown old while Familiar was not running. */
  start(): Promise<void>
  /** Forgets no more by itself. */
  close(): void
}

export function createClientTelemetry(dependencies: { database: Database; clock: Clock }): ClientTelemetry {
  const { database, clock } = dependencies
  let cancelTimer: (() => void) | undefined

  /** What is an hour old is not only passed over: it goes. What is younger goes when its time has come. */
  async function forgetOld(): Promise<void> {
    cancelTimer?.()
    cancelTimer = undefined
    const before = clock.now() - keptForMs
    await database.write((writer) => writer.deleteFrom('client_telemetry').where('at', '<=', before).execute())
    const oldest = await database.read.selectFrom('client_telemetry').select('at').orderBy('at').executeTakeFirst()
    if (oldest) forgetAt(Number(oldest.at) + keptForMs)
  }

  function forgetAt(time: number): void {
    // What fails here is passed over when it is read, and tried again with the next that is kept.
    cancelTimer ??= clock.after(Math.max(0, time - clock.now()), () => {
      cancelTimer = undefined
      forgetOld().catch(() => undefined)
    })
  }

  return {
    async keep(userId, { place_consent, ...told }) {
      const place = place_consent ? told : {}
      const data = keptSchema.parse({
        locale: told.locale ?? null,
        language: told.language ?? null,
        device: told.device ?? null,
        city: place.city ?? null,
        country: place.country ?? null,
        lat: place.lat ?? null,
        lon: place.lon ?? null,
      })
      const row = { user_id: userId, data: JSON.stringify(data), at: clock.now() }
      await database.write((writer) =>
        writer
          .insertInto('client_telemetry')
          .values(row)
          .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ data: row.data, at: row.at }))
          .execute(),
      )
      forgetAt(row.at + keptForMs)
      const hasPlace = [data.city, data.country, data.lat, data.lon].some((field) => field !== null)
      return { has_place: hasPlace, kept_until: new Date(row.at + keptForMs).toISOString() }
    },
    async telemetryFor(userId) {
      const row = await database.read
        .selectFrom('client_telemetry')
        .select(['data', 'at'])
        .where('user_id', '=', userId)
        .executeTakeFirst()
      const isFresh = row !== undefined && clock.now() - Number(row.at) < keptForMs
      if (row && !isFresh) await forgetOld()
      const kept = isFresh ? parseJson(row.data, keptSchema) : undefined
      return { ...(kept?.ok ? kept.value : nothingKnown), time: secondsOf(clock.now()) }
    },
    start: forgetOld,
    close: () => cancelTimer?.(),
  }
}

const nothingKnown = {
  locale: null,
  language: null,
  city: null,
  country: null,
  lat: null,
  lon: null,
  device: null,
}

/** `2026-02-20T17:00:00Z`, as tools know it. */
function secondsOf(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
}
