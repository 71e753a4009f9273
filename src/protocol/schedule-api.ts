import { z } from 'zod'
import { labelSchema } from './label.ts'

/** What the HTTP API says of messages that are sent later. */

const shortText = (most: number) => z.string().trim().min(1).max(most)

const placeFields = {
  name: shortText(100).optional(),
  /** Name or id of the session that it goes to. */
  session: shortText(200).default('main'),
  /** Such as `Europe/Malta`. Absent: the user's. */
  time_zone: shortText(64).optional(),
  /** Of what was missed while Familiar was not running: the newest is sent late, all are (ten at most), or none is. */
  catch_up: z.enum(['latest', 'all', 'none']).default('latest'),
}

/** Either `at` or `cron`. */
export const scheduleRequestSchema = z
  .strictObject({
    /** A time in ISO 8601 or in words: `tomorrow at 9:00`, `in 20 minutes`. */
    at: shortText(200).optional(),
    /** Five fields, or a step in minutes alone. */
    cron: shortText(200).optional(),
    message: shortText(20_000),
    ...placeFields,
  })
  .refine(({ at, cron }) => (at === undefined) !== (cron === undefined), { error: 'give either at or cron' })
export type ScheduleRequestInput = z.input<typeof scheduleRequestSchema>

export const heartbeatRequestSchema = z.strictObject({
  /** `30m`, `2h`. */
  every: shortText(20).default('30m'),
  ...placeFields,
})
export type HeartbeatRequestInput = z.input<typeof heartbeatRequestSchema>

/** One of them; whatever `POST /schedules` and `/schedules/heartbeat` would take. */
export const schedulePreviewRequestSchema = z
  .strictObject({
    at: shortText(200).optional(),
    cron: shortText(200).optional(),
    every: shortText(20).optional(),
    time_zone: shortText(64).optional(),
  })
  .refine(({ at, cron, every }) => [at, cron, every].filter((given) => given !== undefined).length === 1, {
    error: 'give at, cron or every',
  })

export const schedulePreviewReplySchema = z.object({
  kind: z.enum(['once', 'cron', 'heartbeat']),
  /** As it would be kept. */
  expression: z.string(),
  time_zone: z.string(),
  /** The next ones, five at most. */
  times: z.array(z.string()),
})
export type SchedulePreviewReply = z.infer<typeof schedulePreviewReplySchema>

export const scheduleRunReplySchema = z.object({
  due_at: z.string(),
  /** `late`: it arrived, but well after its time. */
  state: z.enum(['begun', 'delivered', 'late', 'missed', 'failed']),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
  message_id: z.string().nullable(),
  error: z.string().nullable(),
})
export type ScheduleRunReply = z.infer<typeof scheduleRunReplySchema>

const scheduleFields = {
  id: z.string(),
  name: z.string(),
  kind: z.enum(['once', 'cron', 'heartbeat']),
  expression: z.string(),
  time_zone: z.string(),
  message: z.string(),
  channel: z.string(),
  session: z.string(),
  catch_up: z.enum(['latest', 'all', 'none']),
  author: z.enum(['user', 'agent']),
  trust: labelSchema,
  state: z.enum(['active', 'done', 'cancelled']),
  next_at: z.string().nullable(),
  created_at: z.string(),
}

export const scheduleReplySchema = z.object(scheduleFields)
export type ScheduleReply = z.infer<typeof scheduleReplySchema>

export const listedScheduleReplySchema = z.object({ ...scheduleFields, last_run: scheduleRunReplySchema.nullable() })
export type ListedScheduleReply = z.infer<typeof listedScheduleReplySchema>

export const schedulesReplySchema = z.object({ schedules: z.array(listedScheduleReplySchema) })
export type SchedulesReply = z.infer<typeof schedulesReplySchema>

export const shownScheduleReplySchema = z.object({ ...scheduleFields, runs: z.array(scheduleRunReplySchema) })
export type ShownScheduleReply = z.infer<typeof shownScheduleReplySchema>

export const schedulesQuerySchema = z.strictObject({ all: z.enum(['true', 'false']).default('false') })
