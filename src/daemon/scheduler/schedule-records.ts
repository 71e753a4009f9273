import type { Clock } from '../../base/clock.ts'
import { camelKeys, snakeKeys } from '../../base/json.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Schedule, ScheduleRun } from '../../protocol/schedules.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import type { ScheduleRow, ScheduleRunRow } from '../../storage/feature-tables.ts'
import type { DuePlan } from './deliver-run.ts'

const keptForMs = 30 * 24 * 60 * 60_000
const maxActive = 200
const maxListed = 500
const maxRunsShown = 50
const maxErrorLength = 500

export type RunEnd = Pick<ScheduleRun, 'state'> & Partial<Pick<ScheduleRun, 'messageId' | 'error'>>

export type ScheduleRecords = ReturnType<typeof createScheduleRecords>

/**
 * Stored schedules and their runs. User queries carry that user; the timer queries all, and runs are queried by their
 * schedule.
 */
export function createScheduleRecords({ database, clock }: { database: Database; clock: Clock }) {
  async function find(db: Reader, userId: string, id: string): Promise<Schedule | undefined> {
    const row = await db
      .selectFrom('schedules')
      .selectAll()
      .where('user_id', '=', userId)
      .where('id', '=', id)
      .executeTakeFirst()
    return row && scheduleOf(row)
  }

  return {
    /** Returns the existing one if the id is known. Throws `conflict` if there are too many, or two heartbeats. */
    insert: (schedule: Schedule) =>
      database.write(async (writer) => {
        const known = await find(writer, schedule.userId, schedule.id)
        if (known) return known
        await refuseTooMany(writer, schedule)
        await writer.insertInto('schedules').values(rowOf(schedule)).execute()
        return schedule
      }),
    find: (userId: string, id: string) => find(database.read, userId, id),
    async list(userId: string, { all }: { all: boolean }) {
      const own = database.read.selectFrom('schedules').selectAll().where('user_id', '=', userId).limit(maxListed)
      const rows = all
        ? await own.orderBy('created_at', 'desc').orderBy('id', 'desc').execute()
        : await own.where('state', '=', 'active').orderBy('next_at').orderBy('id').execute()
      const newest = await newestRuns(database, userId)
      return rows.map((row) => ({ schedule: scheduleOf(row), lastRun: newest.get(row.id) ?? null }))
    },
    /** Newest first. */
    async runs(scheduleId: string) {
      const rows = await database.read
        .selectFrom('schedule_runs')
        .selectAll()
        .where('schedule_id', '=', scheduleId)
        .orderBy('due_at', 'desc')
        .limit(maxRunsShown)
        .execute()
      return rows.map(runOf)
    },
    /** Does nothing if it is no longer active. */
    async cancel(userId: string, id: string) {
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
    /** Due ones, and the time of the first one after them. */
    async due(now: number) {
      const active = database.read.selectFrom('schedules').where('state', '=', 'active').orderBy('next_at')
      const rows = await active.selectAll().where('next_at', '<=', now).execute()
      const later = await active.select('next_at').where('next_at', '>', now).limit(1).executeTakeFirst()
      return {
        schedules: rows.map(activeOf),
        nextAt: later?.next_at == null ? undefined : Number(later.next_at),
      }
    },
    /** Repeating ones whose next time was computed at a later time than now: the clock went back. */
    async ahead(now: number) {
      const rows = await database.read
        .selectFrom('schedules')
        .selectAll()
        .where('state', '=', 'active')
        .where('kind', '!=', 'once')
        .where('updated_at', '>', now)
        .execute()
      return rows.map(activeOf)
    },
    /** Replaces the due time by the plan, in one commit. False if it was cancelled meanwhile. */
    moveOn: (schedule: Schedule, { begins, missed, next }: DuePlan, reason: string) =>
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
    /** A run in addition to its times. Keeps an existing one that starts at the same moment. */
    begin: (scheduleId: string, dueAt: number) =>
      database.write((writer) =>
        insertRuns(writer, [runRow(scheduleId, dueAt, { state: 'begun', started_at: clock.now() })]),
      ),
    /** Recorded runs that have not ended, oldest first. */
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
    async close(scheduleId: string, dueAt: number, { state, messageId = null, error = null }: RunEnd) {
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

/** An active schedule has a next time. */
function activeOf(row: ScheduleRow): Schedule & { nextAt: number } {
  return { ...scheduleOf(row), nextAt: Number(row.next_at) }
}

function rowOf({ session, ...schedule }: Schedule): ScheduleRow {
  return { ...snakeKeys(schedule), contact: session, updated_at: schedule.createdAt }
}

function runOf({ schedule_id: _schedule, ...row }: ScheduleRunRow): ScheduleRun {
  return camelKeys(row)
}
