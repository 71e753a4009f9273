import { z } from 'zod'

/** What a tool is told of where and when it is asked. Every field is always there; null where it is not known. */
export const telemetrySchema = z.object({
  time: z.string().nullable(),
  locale: z.string().nullable(),
  language: z.string().nullable(),
  city: z.string().nullable(),
  country: z.string().nullable(),
  lat: z.number().nullable(),
  lon: z.number().nullable(),
  device: z.string().nullable(),
})
export type Telemetry = z.infer<typeof telemetrySchema>

/** What is known, with null for the rest and the time of now where no other is told. */
export function completeTelemetry(known: Partial<Telemetry>, now: number): Telemetry {
  const { time, locale, language, city, country, lat, lon, device } = known
  return {
    time: time ?? new Date(now).toISOString(),
    locale: locale ?? null,
    language: language ?? null,
    city: city ?? null,
    country: country ?? null,
    lat: lat ?? null,
    lon: lon ?? null,
    device: device ?? null,
  }
}
