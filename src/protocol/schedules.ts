import { z } from 'zod'
import { labelSchema } from './messages.ts'
import { operation, time, type Wire } from './operation.ts'

/** Scheduled messages. */

const shortText = (most: number) => z.string().trim().min(1).max(most)
const kind = z.enum(['once', 'cron', 'heartbeat'])
const catchUp = z.enum(['latest', 'all', 'none'])

const placeFields = {
  name: shortText(100).optional(),
  /** The name or id of the session that gets the message. */
  session: shortText(200).default('main'),
  /** Such as `Europe/Malta`. Default: the user's time zone. */
  timeZone: shortText(64).optional(),
  /** The missed runs to send late: the latest one, all (at most ten), or none. */
  catchUp: catchUp.default('latest'),
}

/** Requires either `at` or `cron`. */
export const scheduleRequestSchema = z
  .strictObject({
    /** A time in ISO 8601 or in words: `tomorrow at 9:00`, `in 20 minutes`. */
    at: shortText(200).optional(),
    /** Five fields, or only an interval in minutes. */
    cron: shortText(200).optional(),
    message: shortText(20_000),
    ...placeFields,
  })
  .refine(({ at, cron }) => (at === undefined) !== (cron === undefined), { error: 'needs either "at" or "cron"' })

export const heartbeatRequestSchema = z.strictObject({
  /** Such as `30m` or `2h`. */
  every: shortText(20).default('30m'),
  ...placeFields,
})

/** Requires exactly one of `at`, `cron` and `every`. */
export const schedulePreviewRequestSchema = z
  .strictObject({
    at: shortText(200).optional(),
    cron: shortText(200).optional(),
    every: shortText(20).optional(),
    timeZone: shortText(64).optional(),
  })
  .refine(({ at, cron, every }) => [at, cron, every].filter((given) => given !== undefined).length === 1, {
    error: 'needs one of "at", "cron" and "every"',
  })

export const schedulePreviewReplySchema = z.object({
  kind,
  /** As it would be stored. */
  expression: z.string(),
  timeZone: z.string(),
  /** The next runs, at most five. */
  times: z.array(time),
})
export type SchedulePreview = z.infer<typeof schedulePreviewReplySchema>

export const scheduleRunReplySchema = z.object({
  dueAt: time,
  /** `begun`: it has started. `late`: it was delivered well after its time. */
  state: z.enum(['begun', 'delivered', 'late', 'missed', 'failed']),
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  messageId: z.string().nullable(),
  /** The reason why it was missed or failed. */
  error: z.string().nullable(),
})
export type ScheduleRun = z.infer<typeof scheduleRunReplySchema>
export type ScheduleRunReply = Wire<typeof scheduleRunReplySchema>

export const scheduleReplySchema = z.object({
  id: z.string(),
  name: z.string(),
  /** `heartbeat`: a cron schedule that sends the content of HEARTBEAT.md. */
  kind,
  /** A time in ISO 8601, or a cron expression. */
  expression: z.string(),
  timeZone: z.string(),
  message: z.string(),
  channel: z.string(),
  /** The recipient on the channel. */
  session: z.string(),
  catchUp,
  author: z.enum(['user', 'agent']),
  /** A message that the agent wrote while it read untrusted text stays untrusted (SEC-17). */
  trust: labelSchema,
  state: z.enum(['active', 'done', 'cancelled']),
  /** The next run; null if there is none. */
  nextAt: time.nullable(),
  createdAt: time,
})
export type Schedule = z.infer<typeof scheduleReplySchema> & { userId: string }

export const listedScheduleReplySchema = scheduleReplySchema.extend({ lastRun: scheduleRunReplySchema.nullable() })
export type ListedScheduleReply = Wire<typeof listedScheduleReplySchema>
export const schedulesReplySchema = z.object({ schedules: z.array(listedScheduleReplySchema) })
export const shownScheduleReplySchema = scheduleReplySchema.extend({ runs: z.array(scheduleRunReplySchema) })

export const schedulesQuerySchema = z.strictObject({ all: z.enum(['true', 'false']).default('false') })

export const schedules = {
  list: operation('GET /api/v1/schedules', 'List schedules, next run first. With `all=true`, include finished ones.', {
    scope: 'read',
    query: schedulesQuerySchema,
    reply: schedulesReplySchema,
  }),
  add: operation('POST /api/v1/schedules', 'Schedule a message, once or repeatedly.', {
    scope: 'chat',
    body: scheduleRequestSchema,
    reply: scheduleReplySchema,
    status: 201,
  }),
  preview: operation('POST /api/v1/schedules/preview', 'Preview the next runs of a schedule without creating it.', {
    scope: 'chat',
    body: schedulePreviewRequestSchema,
    reply: schedulePreviewReplySchema,
  }),
  heartbeat: operation(
    'POST /api/v1/schedules/heartbeat',
    'Schedule a heartbeat, which sends the content of HEARTBEAT.md. Each run calls a model.',
    {
      scope: 'chat',
      // HEARTBEAT.md is in the owner's workspace.
      isOwners: true,
      body: heartbeatRequestSchema,
      reply: scheduleReplySchema,
      status: 201,
    },
  ),
  show: operation('GET /api/v1/schedules/:id', 'Get a schedule with its runs, newest first.', {
    scope: 'read',
    reply: shownScheduleReplySchema,
  }),
  cancel: operation('DELETE /api/v1/schedules/:id', 'Cancel a schedule. Its past runs are kept.', {
    scope: 'chat',
    reply: scheduleReplySchema,
  }),
  run: operation('POST /api/v1/schedules/:id/run', 'Run a schedule now, in addition to its regular runs.', {
    scope: 'chat',
    reply: scheduleRunReplySchema,
  }),
}
