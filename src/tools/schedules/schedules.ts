import type { Label } from '../../protocol/label.ts'

type CatchUp = 'latest' | 'all' | 'none'

/** A message that is sent later: once, or again and again. */
export interface Schedule {
  id: string
  userId: string
  name: string
  /** `heartbeat` is a cron whose message is what HEARTBEAT.md says at that time. */
  kind: 'once' | 'cron' | 'heartbeat'
  /** A time in ISO 8601, or the fields of cron. */
  expression: string
  timeZone: string
  message: string
  channel: string
  contact: string
  /** Of what passed while Familiar was not running: the newest is made up for, all of them are, or none is. */
  catchUp: CatchUp
  author: 'user' | 'agent'
  /** Whose words the message is: what an agent wrote with words of others in sight stays untrusted (SEC-17). */
  trust: Label
  state: 'active' | 'done' | 'cancelled'
  /** Null where it does not come again. */
  nextAt: number | null
  createdAt: number
}

export interface ScheduleRun {
  dueAt: number
  /** `begun`: written down, and on its way. `late`: it arrived, but well after its time. */
  state: 'begun' | 'delivered' | 'late' | 'missed' | 'failed'
  startedAt: number | null
  finishedAt: number | null
  messageId: string | null
  /** Why it was missed or failed. */
  error: string | null
}

export type ScheduleTime =
  /** A time in ISO 8601 or in words: "tomorrow at 9:00", "in 20 minutes". */
  | { at: string }
  /** Five fields, or a step in minutes alone. */
  | { cron: string }
  /** A heartbeat every so often: "30m", "2h". */
  | { every: string }

export interface SchedulePreview extends Pick<Schedule, 'kind' | 'expression' | 'timeZone'> {
  /** The next ones, five at most. */
  times: number[]
}

export interface ScheduleRequest {
  userId: string
  time: ScheduleTime
  /** Of a heartbeat it is not looked at. */
  message: string
  /** Name or id of the session that the message goes to. */
  session: string
  name?: string | undefined
  /** Absent: the user's. */
  timeZone?: string | undefined
  /** Absent: `latest`. */
  catchUp?: CatchUp | undefined
  author: Schedule['author']
  trust: Label
  /** The same key makes one schedule, however often it is asked for. */
  key?: string
}

/**
 * Messages that are sent later. Whatever belongs to another user does not exist: `not_found`. What cannot be read as a
 * time, or has passed, is a `bad_request` that says so.
 */
export interface Schedules {
  /** What a request would come to: nothing is kept. */
  preview(time: ScheduleTime, timeZone?: string): SchedulePreview
  add(request: ScheduleRequest): Promise<Schedule>
  /** Those that are still to come, the next one first; with `all` also what is over, newest first. */
  list(userId: string, options?: { all?: boolean }): Promise<{ schedule: Schedule; lastRun: ScheduleRun | null }[]>
  /** Its runs are the newest ones, newest first. */
  show(userId: string, id: string): Promise<{ schedule: Schedule; runs: ScheduleRun[] }>
  /** The same twice is once. `conflict` where it has come for the last time already. */
  cancel(userId: string, id: string): Promise<Schedule>
  /** Sends it now, beside its times. `conflict` where it was cancelled. */
  run(userId: string, id: string): Promise<ScheduleRun>
}
