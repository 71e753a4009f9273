import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { parseJson } from '../base/json.ts'
import type { ClientContextKept, ClientContextRequest } from '../protocol/tools.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'

const text = z.string().nullable().default(null)
const number = z.number().nullable().default(null)
/** The place and time context of a tool. Every field is always present; null if unknown. */
const clientContextSchema = z.object({
  time: text,
  locale: text,
  language: text,
  city: text,
  country: text,
  lat: number,
  lon: number,
  device: text,
})
export type ClientContext = z.infer<typeof clientContextSchema>

/** Time, locale and language are never null: published tools split the locale without a check. */
export function completeContext(known: Partial<ClientContext>, now: number): ClientContext {
  // The tests of a tool may have values of any kind: they are passed on.
  const names = Object.keys(clientContextSchema.shape) as (keyof ClientContext)[]
  const context = Object.fromEntries(names.map((name) => [name, known[name] ?? null])) as ClientContext
  const { time, locale, language } = context
  const here = locale || language || new Intl.DateTimeFormat().resolvedOptions().locale
  return {
    ...context,
    time: time ?? new Date(now).toISOString(),
    locale: here,
    language: language || (here.split(/[-_]/)[0] ?? here),
  }
}

const keptForMs = 60 * 60_000

const keptSchema = clientContextSchema.omit({ time: true })

/** Data about the user's latest client: deleted after an hour. Location is only stored with the user's permission. */
export type ClientContexts = ReturnType<typeof createClientContexts>

/** The language of the user's latest client as it reported it; null if that is unknown or too long ago. */
export async function readClientLocale(reader: Reader | Writer, userId: string, now: number): Promise<string | null> {
  const row = await reader
    .selectFrom('client_telemetry')
    .select(['data', 'at'])
    .where('user_id', '=', userId)
    .executeTakeFirst()
  const kept = row && now - Number(row.at) < keptForMs ? parseJson(row.data, keptSchema) : undefined
  return kept?.ok ? (kept.value.language ?? kept.value.locale) : null
}

export function createClientContexts({ database, clock }: { database: Database; clock: Clock }) {
  let cancelTimer: (() => void) | undefined

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
    async keep(userId: string, { placeConsent, city, country, lat, lon, ...told }: ClientContextRequest) {
      const data = keptSchema.parse({ ...told, ...(placeConsent && { city, country, lat, lon }) })
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
      return { hasPlace, keptUntil: row.at + keptForMs } satisfies ClientContextKept
    },
    /** Every field, null if unknown. The time is always now, in seconds as tools expect it: `2026-02-20T17:00:00Z`. */
    async telemetryFor(userId: string): Promise<ClientContext> {
      const row = await database.read
        .selectFrom('client_telemetry')
        .select(['data', 'at'])
        .where('user_id', '=', userId)
        .executeTakeFirst()
      const isFresh = row !== undefined && clock.now() - Number(row.at) < keptForMs
      if (row && !isFresh) await forgetOld()
      const kept = isFresh ? parseJson(row.data, keptSchema) : undefined
      const time = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
      return { ...(kept?.ok ? kept.value : keptSchema.parse({})), time }
    },
    /** Deletes data that expired while Familiar was stopped. */
    start: forgetOld,
    close: () => cancelTimer?.(),
  }
}
