import { z } from 'zod'
import { emptyRequestSchema } from './api.ts'
import { labelSchema } from './messages.ts'
import { operation, time, type Wire } from './operation.ts'

/** Messages that are sent later. */

const shortText = (most: number) => z.string().trim().min(1).max(most)
const kind = z.enum(['once', 'cron', 'heartbeat'])
const catchUp = z.enum(['latest', 'all', 'none'])

const placeFields = {
  name: shortText(100).optional(),
  /** Name or id of the session that it goes to. */
  session: shortText(200).default('main'),
  /** Such as `Europe/Malta`. Absent: the user's. */
  timeZone: shortText(64).optional(),
  /** Of what was missed while Familiar was not running: the newest is sent late, all are (ten at most), or none is. */
  catchUp: catchUp.default('latest'),
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

export const heartbeatRequestSchema = z.strictObject({
  /** `30m`, `2h`. */
  every: shortText(20).default('30m'),
  ...placeFields,
})

/** One of them; whatever `POST /schedules` and `/schedules/heartbeat` would take. */
export const schedulePreviewRequestSchema = z
  .strictObject({
    at: shortText(200).optional(),
    cron: shortText(200).optional(),
    every: shortText(20).optional(),
    timeZone: shortText(64).optional(),
  })
  .refine(({ at, cron, every }) => [at, cron, every].filter((given) => given !== undefined).length === 1, {
    error: 'give at, cron or every',
  })

export const schedulePreviewReplySchema = z.object({
  kind,
  /** As it would be kept. */
  expression: z.string(),
  timeZone: z.string(),
  /** The next ones, five at most. */
  times: z.array(time),
})
export type SchedulePreview = z.infer<typeof schedulePreviewReplySchema>
export type SchedulePreviewReply = Wire<typeof schedulePreviewReplySchema>

export const scheduleRunReplySchema = z.object({
  dueAt: time,
  /** `begun`: written down, and on its way. `late`: it arrived, but well after its time. */
  state: z.enum(['begun', 'delivered', 'late', 'missed', 'failed']),
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  messageId: z.string().nullable(),
  /** Why it was missed or failed. */
  error: z.string().nullable(),
})
export type ScheduleRun = z.infer<typeof scheduleRunReplySchema>
export type ScheduleRunReply = Wire<typeof scheduleRunReplySchema>

/** A message that is sent later: once, or again and again. */
export const scheduleReplySchema = z.object({
  id: z.string(),
  name: z.string(),
  /** `heartbeat` is a cron whose message is what HEARTBEAT.md says at that time. */
  kind,
  /** A time in ISO 8601, or the fields of cron. */
  expression: z.string(),
  timeZone: z.string(),
  message: z.string(),
  channel: z.string(),
  /** Who it goes to, on that channel. */
  session: z.string(),
  catchUp,
  author: z.enum(['user', 'agent']),
  /** Whose words the message is: what an agent wrote with words of others in sight stays untrusted (SEC-17). */
  trust: labelSchema,
  state: z.enum(['active', 'done', 'cancelled']),
  /** Null where it does not come again. */
  nextAt: time.nullable(),
  createdAt: time,
})
export type Schedule = z.infer<typeof scheduleReplySchema> & { userId: string }
export type ScheduleReply = Wire<typeof scheduleReplySchema>

export const listedScheduleReplySchema = scheduleReplySchema.extend({ lastRun: scheduleRunReplySchema.nullable() })
export type ListedScheduleReply = Wire<typeof listedScheduleReplySchema>
export const schedulesReplySchema = z.object({ schedules: z.array(listedScheduleReplySchema) })
export const shownScheduleReplySchema = scheduleReplySchema.extend({ runs: z.array(scheduleRunReplySchema) })
export type ShownScheduleReply = Wire<typeof shownScheduleReplySchema>

export const schedulesQuerySchema = z.strictObject({ all: z.enum(['true', 'false']).default('false') })

export const schedules = {
  list: operation(
    'GET /api/v1/schedules',
    'What is scheduled, the next one first, with the newest run of each; with all=true what is over, too.',
    { scope: 'read', query: schedulesQuerySchema, reply: schedulesReplySchema },
  ),
  add: operation('POST /api/v1/schedules', 'Have a message sent later: once, or again and again.', {
    scope: 'chat',
    body: scheduleRequestSchema,
    reply: scheduleReplySchema,
    status: 201,
  }),
  preview: operation('POST /api/v1/schedules/preview', 'When it would come, before it is asked for. Nothing is kept.', {
    scope: 'chat',
    body: schedulePreviewRequestSchema,
    reply: schedulePreviewReplySchema,
  }),
  heartbeat: operation(
    'POST /api/v1/schedules/heartbeat',
    'Have what HEARTBEAT.md says sent every so often. Each one is a call of a model.',
    {
      scope: 'chat',
      // HEARTBEAT.md lies in the owner's workspace.
      isOwners: true,
      body: heartbeatRequestSchema,
      reply: scheduleReplySchema,
      status: 201,
    },
  ),
  show: operation('GET /api/v1/schedules/:id', 'One schedule with its runs, newest first, late and missed ones too.', {
    scope: 'read',
    reply: shownScheduleReplySchema,
  }),
  cancel: operation(
    'DELETE /api/v1/schedules/:id',
    'Cancel one: it does not come again. What it did stays on record.',
    { scope: 'chat', reply: scheduleReplySchema },
  ),
  run: operation('POST /api/v1/schedules/:id/run', 'Send it now, beside its times.', {
    scope: 'chat',
    body: emptyRequestSchema,
    reply: scheduleRunReplySchema,
  }),
}
