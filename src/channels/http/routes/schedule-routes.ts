import { emptyRequestSchema } from '../../../protocol/api.ts'
import * as api from '../../../protocol/schedule-api.ts'
import type { Schedule, ScheduleRun, Schedules } from '../../../tools/schedules/schedules.ts'
import { callerOf } from '../guards/token-guard.ts'
import { isoTime } from '../iso-time.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

const base = '/api/v1/schedules'

/** Messages that are sent later. Whoever may speak for the user now may have something said later, too. */
export function createScheduleRoutes(schedules: Schedules): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: base,
      summary: 'What is scheduled, the next one first, with the newest run of each; with all=true what is over, too.',
      auth: 'token',
      scope: 'read',
      query: api.schedulesQuerySchema,
      reply: { status: 200, schema: api.schedulesReplySchema },
      async handle({ context, query }) {
        const listed = await schedules.list(callerOf(context).userId, { all: query.all === 'true' })
        const replies = listed.map(({ schedule, lastRun }) => {
          return { ...scheduleReply(schedule), last_run: lastRun && runReply(lastRun) }
        })
        return jsonReply({ schedules: replies } satisfies api.SchedulesReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: base,
      summary: 'Have a message sent later: once, or again and again.',
      auth: 'token',
      scope: 'chat',
      body: api.scheduleRequestSchema,
      reply: { status: 201, schema: api.scheduleReplySchema },
      async handle({ context, body }) {
        const { at, cron = '', message, ...rest } = body
        const time = at === undefined ? { cron } : { at }
        const schedule = await schedules.add({ ...requestOf(callerOf(context).userId, rest), time, message })
        return jsonReply(scheduleReply(schedule), { status: 201 })
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${base}/preview`,
      summary: 'When it would come, before it is asked for. Nothing is kept.',
      auth: 'token',
      scope: 'chat',
      body: api.schedulePreviewRequestSchema,
      reply: { status: 200, schema: api.schedulePreviewReplySchema },
      handle({ body }) {
        const { at, cron, every = '', time_zone } = body
        const time = at !== undefined ? { at } : cron !== undefined ? { cron } : { every }
        const { kind, expression, timeZone, times } = schedules.preview(time, time_zone)
        const reply: api.SchedulePreviewReply = { kind, expression, time_zone: timeZone, times: times.map(isoTime) }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${base}/heartbeat`,
      summary: 'Have what HEARTBEAT.md says sent every so often. Each one is a call of a model.',
      auth: 'token',
      scope: 'chat',
      // HEARTBEAT.md lies in the owner's workspace.
      isOwners: true,
      body: api.heartbeatRequestSchema,
      reply: { status: 201, schema: api.scheduleReplySchema },
      async handle({ context, body }) {
        const { every, ...rest } = body
        const { userId } = callerOf(context)
        const schedule = await schedules.add({ ...requestOf(userId, rest), time: { every }, message: '' })
        return jsonReply(scheduleReply(schedule), { status: 201 })
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${base}/:id`,
      summary: 'One schedule with its runs, newest first, late and missed ones too.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: api.shownScheduleReplySchema },
      async handle({ context }) {
        const { schedule, runs } = await schedules.show(callerOf(context).userId, context.req.param('id') ?? '')
        return jsonReply({ ...scheduleReply(schedule), runs: runs.map(runReply) } satisfies api.ShownScheduleReply)
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: `${base}/:id`,
      summary: 'Cancel one: it does not come again. What it did stays on record.',
      auth: 'token',
      scope: 'chat',
      reply: { status: 200, schema: api.scheduleReplySchema },
      async handle({ context }) {
        const schedule = await schedules.cancel(callerOf(context).userId, context.req.param('id') ?? '')
        return jsonReply(scheduleReply(schedule))
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${base}/:id/run`,
      summary: 'Send it now, beside its times.',
      auth: 'token',
      scope: 'chat',
      body: emptyRequestSchema,
      reply: { status: 200, schema: api.scheduleRunReplySchema },
      async handle({ context }) {
        const run = await schedules.run(callerOf(context).userId, context.req.param('id') ?? '')
        return jsonReply(runReply(run))
      },
    }),
  ]
}

type Place = Omit<ReturnType<(typeof api.heartbeatRequestSchema)['parse']>, 'every'>

function requestOf(userId: string, { name, session, time_zone, catch_up }: Place) {
  return { userId, name, session, timeZone: time_zone, catchUp: catch_up, author: 'user', trust: 'owner' } as const
}

function scheduleReply(schedule: Schedule): api.ScheduleReply {
  return {
    id: schedule.id,
    name: schedule.name,
    kind: schedule.kind,
    expression: schedule.expression,
    time_zone: schedule.timeZone,
    message: schedule.message,
    channel: schedule.channel,
    session: schedule.contact,
    catch_up: schedule.catchUp,
    author: schedule.author,
    trust: schedule.trust,
    state: schedule.state,
    next_at: schedule.nextAt === null ? null : isoTime(schedule.nextAt),
    created_at: isoTime(schedule.createdAt),
  }
}

function runReply(run: ScheduleRun): api.ScheduleRunReply {
  return {
    due_at: isoTime(run.dueAt),
    state: run.state,
    started_at: run.startedAt === null ? null : isoTime(run.startedAt),
    finished_at: run.finishedAt === null ? null : isoTime(run.finishedAt),
    message_id: run.messageId,
    error: run.error,
  }
}
