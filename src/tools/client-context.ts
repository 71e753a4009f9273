import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { parseJson } from '../base/json.ts'
import type { TelemetryKept, TelemetryRequest } from '../protocol/tools.ts'
import type { Database } from '../storage/database.ts'

/** The place and time context of a tool. Every field is always present; null if unknown. */
const telemetrySchema = z.object({
  time: z.string().nullable(),
  locale: z.string().nullable(),
  language: z.string().nullable(),
  city: z.string().nullable(),
  country: z.string().nullable(),
  lat: z.number().nullable(),
  lon: z.number().nullable(),
  device: z.string().nullable(),
})
export type ClientContext = z.infer<typeof telemetrySchema>

/**
 * The known values, with null for the rest. Time, locale and language are never null: published tools split the locale
 * without a check, so this machine's is the default.
 */
export function completeContext(known: Partial<ClientContext>, now: number): ClientContext {
  const { time, locale, language, city, country, lat, lon, device } = known
  const here = locale || language || new Intl.DateTimeFormat().resolvedOptions().locale
  return {
    time: time ?? new Date(now).toISOString(),
    locale: here,
    language: language || (here.split(/[-_]/)[0] ?? here),
    city: city ?? null,
    country: country ?? null,
    lat: lat ?? null,
    lon: lon ?? null,
    device: device ?? null,
  }
}

const keptForMs = 60 * 60_000

const keptSchema = telemetrySchema.omit({ time: true })

/** Data about the user's latest client: deleted after an hour. Location is only stored with the user's permission. */
export interface ClientContexts {
  /** Replaces earlier data. */
  keep(userId: string, told: TelemetryRequest): Promise<TelemetryKept>
  /** Every field, null if unknown. The time is always now. */
  telemetryFor(userId: string): Promise<ClientContext>
  /** Deletes data that expired while Familiar was stopped. */
  start(): Promise<void>
  /** Stops automatic deletion. */
  close(): void
}

export function createClientContexts(dependencies: { database: Database; clock: Clock }): ClientContexts {
  const { database, clock } = dependencies
  let cancelTimer: (() => void) | undefined

  /** Deletes data after an hour, and schedules the next deletion. */
  async function forgetOld(): Promise<void> {
    cancelTimer?.()
    cancelTimer = undefined
    const before = clock.now() - keptForMs
    await database.write((writer) => writer.deleteFrom('client_telemetry').where('at', '<=', before).execute())
    const oldest = await database.read.selectFrom('client_telemetry').select('at').orderBy('at').executeTakeFirst()
    if (oldest) forgetAt(Number(oldest.at) + keptForMs)
  }

  function forgetAt(time: number): void {
    // If this fails, expired data is ignored when read, and the deletion is retried with the next write.
    cancelTimer ??= clock.after(Math.max(0, time - clock.now()), () => {
      cancelTimer = undefined
      forgetOld().catch(() => undefined)
    })
  }

  return {
    async keep(userId, { placeConsent, ...told }) {
      const place = placeConsent ? told : {}
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
      return { hasPlace, keptUntil: row.at + keptForMs }
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

/** `2026-02-20T17:00:00Z`, as tools expect it. */
function secondsOf(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
}
