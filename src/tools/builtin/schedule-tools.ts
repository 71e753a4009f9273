import { z } from 'zod'
import type { Label } from '../../protocol/messages.ts'
import type { Schedule, SchedulePreview, ScheduleRun } from '../../protocol/schedules.ts'
import { defineTool, failed, succeeded, type Tool } from '../tool.ts'

const maxShown = 50

/** The tools for scheduled messages (SCHED-1). */
export function createScheduleTools({ schedules }: { schedules: Schedules }): Tool[] {
  return [
    // Always for the conversation of the call, which shares what was seen here.
    defineTool({
      name: 'schedule_message',
      description:
        'Schedule a message to yourself in this conversation, to act on it or remind the user later. Give `at` for once or `cron` for repeated runs.',
      input: z.object({
        message: z.string().min(1).describe('The task or text'),
        at: z.string().optional().describe('ISO 8601, or such as "in 20 minutes", "tomorrow at 9:00"'),
        cron: z.string().optional().describe('Five fields, or "*/30" for every 30 minutes'),
        name: z.string().optional(),
        time_zone: z.string().optional().describe('Default: the user’s'),
        catch_up: z
          .enum(['latest', 'all', 'none'])
          .optional()
          .describe('How to handle runs missed while Familiar was off'),
      }),
      effect: 'idempotent',
      reach: () => ({ kind: 'later', destination: 'schedule' }),
      async run({ message, at, cron, name, time_zone, catch_up }, { userId, sessionId, callId, seen }) {
        if ((at === undefined) === (cron === undefined)) return failed('Give either `at` or `cron`.')
        const schedule = await schedules.add({
          userId,
          time: at === undefined ? { cron: cron ?? '' } : { at },
          message,
          session: sessionId,
          name,
          timeZone: time_zone,
          catchUp: catch_up,
          author: 'agent',
          trust: seen.untrusted ? 'untrusted' : 'internal',
          key: `${sessionId}:${callId}`,
        })
        return succeeded(`Scheduled: ${describeSchedule(schedule)}`)
      },
    }),
    defineTool({
      name: 'list_scheduled',
      description: 'List scheduled messages with their ids and the result of their last run.',
      input: z.object({ all: z.boolean().optional().describe('Include finished ones') }),
      effect: 'idempotent',
      async run({ all }, { userId }) {
        const listed = await schedules.list(userId, { all: all ?? false })
        if (listed.length === 0) return succeeded('Nothing is scheduled.')
        const shown = listed.slice(0, maxShown)
        const lines = shown.map(({ schedule, lastRun }) => describeSchedule(schedule, lastRun))
        if (listed.length > shown.length) lines.push(`… and ${listed.length - shown.length} more.`)
        const isUntrusted = shown.some(({ schedule }) => schedule.trust === 'untrusted')
        return { ...succeeded(lines.join('\n')), isPrivate: true, ...(isUntrusted && { label: 'untrusted' }) }
      },
    }),
    defineTool({
      name: 'cancel_scheduled',
      description: 'Cancel a scheduled message by its id.',
      input: z.object({ id: z.string().min(1) }),
      effect: 'idempotent',
      reach: () => ({ kind: 'later', destination: 'schedule' }),
      async run({ id }, { userId }) {
        const schedule = await schedules.cancel(userId, id.trim())
        return succeeded(`Cancelled: ${schedule.id}. It will not run again.`)
      },
    }),
  ]
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** `2026-11-16 09:00 Europe/Malta`, in local time. */
export function formatDue(at: number, timeZone: string): string {
  // Swedish dates have the format of ISO 8601. Creating a format costs as much as writing a hundred dates.
  const format =
    formats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  formats.set(timeZone, format)
  return `${format.format(at)} ${timeZone}`
}

const maxShownLength = 500

/** One schedule in one line for a model. Untrusted text is quoted and cannot end its quotes. */
export function describeSchedule(schedule: Schedule, lastRun: ScheduleRun | null = null): string {
  const { id, name, kind, expression, timeZone, nextAt, state, session, trust } = schedule
  const comes = nextAt === null ? state : `next ${formatDue(nextAt, timeZone)}`
  const marks = [
    comes,
    kind === 'once' ? 'once' : `${kind} ${expression}`,
    `to ${JSON.stringify(session)}`,
    ...(lastRun ? [`last run ${formatDue(lastRun.dueAt, timeZone)} ${lastRun.state}`] : []),
  ]
  const untrusted = trust === 'untrusted' ? '[untrusted] ' : ''
  const message =
    kind === 'heartbeat' ? '' : ` ${JSON.stringify(schedule.message.slice(0, maxShownLength).toWellFormed())}`
  return `${id} (${marks.join('; ')}) ${untrusted}${JSON.stringify(name)}${message}`
}

export type ScheduleTime =
  /** A time in ISO 8601 or in words: "tomorrow at 9:00", "in 20 minutes". */
  | { at: string }
  /** Five fields, or a step in minutes. */
  | { cron: string }
  /** The interval of a heartbeat: "30m", "2h". */
  | { every: string }

export interface ScheduleRequest {
  userId: string
  time: ScheduleTime
  /** Ignored for a heartbeat. */
  message: string
  /** Name or id of the target session. */
  session: string
  name?: string | undefined
  timeZone?: string | undefined
  catchUp?: Schedule['catchUp'] | undefined
  author: Schedule['author']
  trust: Label
  /** The same key makes one schedule, however often it is requested. */
  key?: string
}

/** Schedules of other users are `not_found`. An unreadable or past time is a `bad_request` that says so. */
export interface Schedules {
  preview(time: ScheduleTime, timeZone?: string): SchedulePreview
  add(request: ScheduleRequest): Promise<Schedule>
  /** Upcoming ones, next first; with `all` also finished ones, newest first. */
  list(userId: string, options?: { all?: boolean }): Promise<{ schedule: Schedule; lastRun: ScheduleRun | null }[]>
  show(userId: string, id: string): Promise<{ schedule: Schedule; runs: ScheduleRun[] }>
  /** Idempotent. Throws `conflict` if it has already run for the last time. */
  cancel(userId: string, id: string): Promise<Schedule>
  /** Sends it now, in addition to its times. Throws `conflict` if it was cancelled. */
  run(userId: string, id: string): Promise<ScheduleRun>
}
