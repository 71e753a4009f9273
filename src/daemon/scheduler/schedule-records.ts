import type { Clock } from '../../base/clock.ts'
import { camelKeys, snakeKeys } from '../../base/json.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Schedule, ScheduleRun } from '../../protocol/schedules.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { ScheduleRow, ScheduleRunRow } from '../../storage/feature-tables.ts'
import type { DuePlan } from './deliver-run.ts'

const keptForMs = 30 * 24 * 60 * 60_000
const maxActive = 200
const maxListed = 500
const maxRunsShown = 50
const maxErrorLength = 500

/** How a run ended. */
export type RunEnd = Pick<ScheduleRun, 'state'> & Partial<Pick<ScheduleRun, 'messageId' | 'error'>>

/**
 * Stored schedules and their runs. User queries carry that user; the timer queries all, and runs are queried by their
 * schedule.
 */
export interface ScheduleRecords {
  /** Returns the existing one if the id is known. Throws `conflict` if there are too many, or two heartbeats. */
  insert(schedule: Schedule): Promise<Schedule>
  find(userId: string, id: string): Promise<Schedule | undefined>
  list(userId: string, options: { all: boolean }): Promise<{ schedule: Schedule; lastRun: ScheduleRun | null }[]>
  /** Newest first. */
  runs(scheduleId: string): Promise<ScheduleRun[]>
  /** Does nothing if it is no longer active. */
  cancel(userId: string, id: string): Promise<void>
  /** Due ones, and the time of the first one after them. */
  due(now: number): Promise<{ schedules: (Schedule & { nextAt: number })[]; nextAt: number | undefined }>
  /** Repeating ones whose next time was computed at a later time than now: the clock went back. */
  ahead(now: number): Promise<(Schedule & { nextAt: number })[]>
  /** Replaces the due time by the plan, in one commit. False if it was cancelled meanwhile. */
  moveOn(schedule: Schedule, plan: DuePlan, reason: string): Promise<boolean>
  /** A run in addition to its times. Keeps an existing one that starts at the same moment. */
  begin(scheduleId: string, dueAt: number): Promise<void>
  /** Recorded runs that have not ended, oldest first. */
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
      const own = database.read.selectFrom('schedules').selectAll().where('user_id', '=', userId).limit(maxListed)
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
        .limit(maxRunsShown)
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
    async ahead(now) {
      const rows = await database.read
        .selectFrom('schedules')
        .selectAll()
        .where('state', '=', 'active')
        .where('kind', '!=', 'once')
        .where('updated_at', '>', now)
        .execute()
      return rows.map((row) => ({ ...scheduleOf(row), nextAt: Number(row.next_at) }))
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
        // Before the new ones, so that old missed runs are visible at least once.
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
      const shown = error?.slice(0, maxErrorLength).toWellFormed() ?? null
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

async function refuseTooMany(writer: Writer, { userId, kind, channel, session }: Schedule): Promise<void> {
  const active = await writer
    .selectFrom('schedules')
    .select(['id', 'kind', 'channel', 'contact'])
    .where('user_id', '=', userId)
    .where('state', '=', 'active')
    .execute()
  if (active.length >= maxActive) {
    throw new FamiliarError('conflict', `There are already ${maxActive} schedules. Cancel some of them first.`)
  }
  const same = active.find((row) => row.kind === 'heartbeat' && row.channel === channel && row.contact === session)
  if (kind !== 'heartbeat' || !same) return
  throw new FamiliarError('conflict', `That session already has a heartbeat: ${same.id}. Cancel it first.`)
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

/** One run per schedule and time, however often it is checked. */
async function insertRuns(writer: Writer, rows: ScheduleRunRow[]): Promise<void> {
  if (rows.length === 0) return
  await writer
    .insertInto('schedule_runs')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

function scheduleOf({ contact, updated_at: _updated, ...row }: ScheduleRow): Schedule {
  return { ...camelKeys(row), session: contact }
}

function rowOf({ session, ...schedule }: Schedule): ScheduleRow {
  return { ...snakeKeys(schedule), contact: session, updated_at: schedule.createdAt }
}

function runOf({ schedule_id: _schedule, ...row }: ScheduleRunRow): ScheduleRun {
  return camelKeys(row)
}
