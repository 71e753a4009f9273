import { z } from 'zod'

/** What the HTTP API says of runs that nobody asked for, and of the client that a user speaks through. */

export const hookReplySchema = z.object({ run_id: z.string() })
export type HookReply = z.infer<typeof hookReplySchema>

/** The secret is shown this once; the one before is no longer taken. */
export const hookSecretReplySchema = z.object({ path: z.string(), secret: z.string() })
export type HookSecretReply = z.infer<typeof hookSecretReplySchema>

export const triggerRunReplySchema = z.object({
  id: z.string(),
  tool: z.string(),
  kind: z.enum(['cron', 'webhook']),
  state: z.enum(['scheduled', 'running', 'done', 'failed', 'missed']),
  due_at: z.string(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
  /** It began well after its time: Familiar was not running, or the machine slept. */
  is_late: z.boolean(),
  error: z.string().nullable(),
})
export type TriggerRunReply = z.infer<typeof triggerRunReplySchema>

export const triggerRunsReplySchema = z.object({ runs: z.array(triggerRunReplySchema) })
export type TriggerRunsReply = z.infer<typeof triggerRunsReplySchema>

export const triggerRunsQuerySchema = z.strictObject({ limit: z.coerce.number().int().min(1).max(500).default(50) })

const shortText = z.string().trim().min(1).max(100).nullish()

const telemetryFields = {
  locale: shortText,
  language: shortText,
  device: shortText,
  city: shortText,
  country: shortText,
  lat: z.number().min(-90).max(90).nullish(),
  lon: z.number().min(-180).max(180).nullish(),
  /** The user has agreed that tools are told the place. Without it none of the place is taken. */
  place_consent: z.boolean().default(false),
}

/** What a client tells of itself. Everything may be left out; what was told before is forgotten. */
export const telemetryRequestSchema = z.strictObject(telemetryFields)
export type TelemetryRequest = z.infer<typeof telemetryRequestSchema>

/** The same beside a message: what does not fit is passed over, for the message is what counts. */
export const messageTelemetrySchema = z.object({
  locale: telemetryFields.locale.catch(null),
  language: telemetryFields.language.catch(null),
  device: telemetryFields.device.catch(null),
  city: telemetryFields.city.catch(null),
  country: telemetryFields.country.catch(null),
  lat: telemetryFields.lat.catch(null),
  lon: telemetryFields.lon.catch(null),
  place_consent: telemetryFields.place_consent.catch(false),
})

export const telemetryReplySchema = z.object({ has_place: z.boolean(), kept_until: z.string() })
export type TelemetryReply = z.infer<typeof telemetryReplySchema>
