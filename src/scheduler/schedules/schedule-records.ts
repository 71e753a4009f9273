import type { Clock } from '../../base/clock.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { ScheduleRunRow } from '../../storage/workspace-tables.ts'
import type { Schedule, ScheduleRun } from '../../tools/schedules/schedules.ts'
import type { DuePlan } from './plan-due.ts'
import { rowOf, runOf, scheduleOf } from './schedule-rows.ts'

const keptForMs = 30 * 24 * 60 * 60_000
const mostActive = 200
const mostListed = 500
const mostRunsShown = 50
const longestError = 500

/** How a run ended. */
export type RunEnd = Pick<ScheduleRun, 'state'> & Partial<Pick<ScheduleRun, 'messageId' | 'error'>>

/**
 * Schedules and their runs as they lie in the database. What a user asks for carries that user; the timer asks for all,
 * and runs are asked for by whoever has found their schedule.
 */
export interface ScheduleRecords {
  /** The one that is there already where the id is known. `conflict` where there are too many, or two heartbeats. */
  insert(schedule: Schedule): Promise<Schedule>
  find(userId: string, id: string): Promise<Schedule | undefined>
  list(userId: string, options: { all: boolean }): Promise<{ schedule: Schedule; lastRun: ScheduleRun | null }[]>
  /** Newest first. */
  runs(scheduleId: string): Promise<ScheduleRun[]>
  /** Nothing where it is not active any more. */
  cancel(userId: string, id: string): Promise<void>
  /** Those whose time has come, and the time of the first one after them. */
  due(now: number): Promise<{ schedules: (Schedule & { nextAt: number })[]; nextAt: number | undefined }>
  /** Puts the plan in place of the time that was due, in one commit. False where it was cancelled meanwhile. */
  moveOn(schedule: Schedule, plan: DuePlan, reason: string): Promise<boolean>
  /** A run beside its times. The one that is there already where one begins at this very moment. */
  begin(scheduleId: string, dueAt: number): Promise<void>
  /** Runs that were written down and have not ended, oldest first. */
  begun(): Promise<{ schedule: Schedule; run: ScheduleRun }[]>
  close(scheduleId: string, dueAt: number, end: RunEnd): Promise<void>
}

export function createScheduleRecords({ database, clock }: { database: Database; clock: Clock }): ScheduleRecords {
  return {
    insert: (schedule) =>
      database.write(async (writer) => {
        const known = await writer
          .selectFrom('schedules')
          .selectAll()
          .where('user_id', '=', schedule.userId)
          .where('id', '=', schedule.id)
          .executeTakeFirst()
        if (known) return scheduleOf(known)
        await refuseTooMany(writer, schedule)
        await writer.insertInto('schedules').values(rowOf(schedule)).execute()
        return schedule
      }),
    async find(userId, id) {
      const row = await database.read
        .selectFrom('schedules')
        .selectAll()
        .where('user_id', '=', userId)
        .where('id', '=', id)
        .executeTakeFirst()
      return row && scheduleOf(row)
    },
    async list(userId, { all }) {
      const own = database.read.selectFrom('schedules').selectAll().where('user_id', '=', userId).limit(mostListed)
      const rows = all
        ? await own.orderBy('created_at', 'desc').orderBy('id', 'desc').execute()
        : await own.where('state', '=', 'active').orderBy('next_at').orderBy('id').execute()
      const newest = await newestRuns(database, userId)
      return rows.map((row) => ({ schedule: scheduleOf(row), lastRun: newest.get(row.id) ?? null }))
    },
    async runs(scheduleId) {
      const rows = await database.read
        .selectFrom('schedule_runs')
        .selectAll()
        .where('schedule_id', '=', scheduleId)
        .orderBy('due_at', 'desc')
        .limit(mostRunsShown)
        .execute()
      return rows.map(runOf)
    },
    async cancel(userId, id) {
      await database.write((writer) =>
        writer
          .updateTable('schedules')
          .set({ state: 'cancelled', next_at: null, updated_at: clock.now() })
          .where('user_id', '=', userId)
          .where('id', '=', id)
          .where('state', '=', 'active')
          .execute(),
      )
    },
    async due(now) {
      const active = database.read.selectFrom('schedules').where('state', '=', 'active').orderBy('next_at')
      const rows = await active.selectAll().where('next_at', '<=', now).execute()
      const later = await active.select('next_at').where('next_at', '>', now).limit(1).executeTakeFirst()
      return {
        schedules: rows.map((row) => ({ ...scheduleOf(row), nextAt: Number(row.next_at) })),
        nextAt: later?.next_at == null ? undefined : Number(later.next_at),
      }
    },
    moveOn: (schedule, { begins, missed, next }, reason) =>
      database.write(async (writer) => {
        const now = clock.now()
        const moved = await writer
          .updateTable('schedules')
          .set({ next_at: next, updated_at: now, ...(next === null && { state: 'done' as const }) })
          .where('id', '=', schedule.id)
          .where('state', '=', 'active')
          .where('next_at', '=', schedule.nextAt)
          .executeTakeFirst()
        if (Number(moved.numUpdatedRows) === 0) return false
        // Before the new ones: what was missed long ago is to be seen once at least.
        await writer
          .deleteFrom('schedule_runs')
          .where('schedule_id', '=', schedule.id)
          .where('due_at', '<', now - keptForMs)
          .where('state', '!=', 'begun')
          .execute()
        const past = missed.map((dueAt) => runRow(schedule.id, dueAt, { state: 'missed', error: reason }))
        const begun = begins.map((dueAt) => runRow(schedule.id, dueAt, { state: 'begun', started_at: now }))
        await insertRuns(writer, [...past, ...begun])
        return true
      }),
    begin: (scheduleId, dueAt) =>
      database.write((writer) =>
        insertRuns(writer, [runRow(scheduleId, dueAt, { state: 'begun', started_at: clock.now() })]),
      ),
    async begun() {
      const rows = await database.read
        .selectFrom('schedule_runs')
        .selectAll()
        .where('state', '=', 'begun')
        .orderBy('due_at')
        .orderBy('schedule_id')
        .execute()
      if (rows.length === 0) return []
      const ids = rows.map((row) => row.schedule_id)
      const schedules = await database.read.selectFrom('schedules').selectAll().where('id', 'in', ids).execute()
      const byId = new Map(schedules.map((row) => [row.id, scheduleOf(row)]))
      return rows.flatMap((row) => {
        const schedule = byId.get(row.schedule_id)
        return schedule ? [{ schedule, run: runOf(row) }] : []
      })
    },
    async close(scheduleId, dueAt, { state, messageId = null, error = null }) {
      const shown = error?.slice(0, longestError).toWellFormed() ?? null
      await database.write((writer) =>
        writer
          .updateTable('schedule_runs')
          .set({ state, finished_at: clock.now(), message_id: messageId, error: shown })
          .where('schedule_id', '=', scheduleId)
          .where('due_at', '=', dueAt)
          .where('state', '=', 'begun')
          .execute(),
      )
    },
  }
}

async function refuseTooMany(writer: Writer, { userId, kind, channel, contact }: Schedule): Promise<void> {
  const active = await writer
    .selectFrom('schedules')
    .select(['id', 'kind', 'channel', 'contact'])
    .where('user_id', '=', userId)
    .where('state', '=', 'active')
    .execute()
  if (active.length >= mostActive) {
    throw new FamiliarError('conflict', `There are ${mostActive} schedules already. Cancel some of them first.`)
  }
  const same = active.find((row) => row.kind === 'heartbeat' && row.channel === channel && row.contact === contact)
  if (kind !== 'heartbeat' || !same) return
  throw new FamiliarError('conflict', `That session has a heartbeat already: ${same.id}. Cancel it first.`)
}

async function newestRuns(database: Database, userId: string): Promise<Map<string, ScheduleRun>> {
  const rows = await database.read
    .selectFrom('schedule_runs as run')
    .innerJoin('schedules', 'schedules.id', 'run.schedule_id')
    .selectAll('run')
    .where('schedules.user_id', '=', userId)
    .where('run.due_at', '=', (where) =>
      where
        .selectFrom('schedule_runs as later')
        .select((select) => select.fn.max('later.due_at').as('newest'))
        .whereRef('later.schedule_id', '=', 'run.schedule_id'),
    )
    .execute()
  return new Map(rows.map((row) => [row.schedule_id, runOf(row)]))
}

function runRow(
  scheduleId: string,
  dueAt: number,
  more: Pick<ScheduleRunRow, 'state'> & Partial<ScheduleRunRow>,
): ScheduleRunRow {
  const none = { started_at: null, finished_at: null, message_id: null, error: null }
  return { schedule_id: scheduleId, due_at: dueAt, ...none, ...more }
}

/** The same time of the same schedule is one run, however often it is looked at. */
async function insertRuns(writer: Writer, rows: ScheduleRunRow[]): Promise<void> {
  if (rows.length === 0) return
  await writer
    .insertInto('schedule_runs')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
