import { z } from 'zod'

/** What the HTTP API says of the home itself: how sound it is, what is configured, and which models answer. */

export const doctorRequestSchema = z.strictObject({
  /** Also asks the servers that are configured whether they take the keys. */
  network: z.boolean().default(false),
})

export const doctorReplySchema = z.object({
  ok: z.boolean(),
  findings: z.array(
    z.object({
      check: z.string(),
      state: z.enum(['ok', 'warn', 'fail']),
      message: z.string(),
      /** The one command that would mend it. */
      mend: z.string().optional(),
    }),
  ),
})
export type DoctorReply = z.infer<typeof doctorReplySchema>

const settingSchema = z.object({
  /** As it is written in `familiar.toml`: `budget.per_day_usd`. */
  key: z.string(),
  /** As it would be written there; null where it is not shown. */
  value: z.string().nullable(),
  origin: z.enum(['default', 'file', 'environment', 'command_line']),
  /** Where it is set: `familiar.toml:12`, `FAMILIAR_PORT`. Null for what is set nowhere. */
  place: z.string().nullable(),
})
export type Setting = z.infer<typeof settingSchema>

export const settingsReplySchema = z.object({
  /** Where the files lie that say this. */
  home: z.string(),
  settings: z.array(settingSchema),
  /** False where the files have changed since they were read. */
  is_current: z.boolean(),
  /** What is wrong with the files as they are now; what was read before goes on. */
  problems: z.array(z.string()),
})
export type SettingsReply = z.infer<typeof settingsReplySchema>

const listedModelSchema = z.object({
  id: z.string(),
  provider: z.string(),
  /** Null for those who are not the owner. */
  provider_type: z.string().nullable(),
  /** Whether a key is there, never which one. Null for those who are not the owner. */
  has_key: z.boolean().nullable(),
  max_tokens: z.number(),
  max_context_tokens: z.number(),
  supports_vision: z.boolean(),
  is_offline: z.boolean(),
  /** Dollars for a million tokens; null is unpriced. */
  cost_per_mtok: z
    .object({ input: z.number(), output: z.number(), cache_read: z.number(), cache_write: z.number() })
    .nullable(),
})
export type ListedModel = z.infer<typeof listedModelSchema>

export const modelsReplySchema = z.object({
  /** Who answers now, where a session has not chosen another one. */
  current: z.string(),
  models: z.array(listedModelSchema),
  /** The first of each is tried first; the rest are its fallbacks. */
  routes: z.array(z.object({ name: z.string(), models: z.array(z.string()) })),
})
export type ModelsReply = z.infer<typeof modelsReplySchema>
