import type { ScheduleRow, ScheduleRunRow } from '../../storage/workspace-tables.ts'
import type { Schedule, ScheduleRun } from '../../tools/schedules/schedules.ts'

export function scheduleOf(row: ScheduleRow): Schedule {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    kind: row.kind,
    expression: row.expression,
    timeZone: row.time_zone,
    message: row.message,
    channel: row.channel,
    contact: row.contact,
    catchUp: row.catch_up,
    author: row.author,
    trust: row.trust,
    state: row.state,
    nextAt: timeOrNull(row.next_at),
    createdAt: Number(row.created_at),
  }
}

export function rowOf(schedule: Schedule): ScheduleRow {
  return {
    id: schedule.id,
    user_id: schedule.userId,
    name: schedule.name,
    kind: schedule.kind,
    expression: schedule.expression,
    time_zone: schedule.timeZone,
    message: schedule.message,
    channel: schedule.channel,
    contact: schedule.contact,
    catch_up: schedule.catchUp,
    author: schedule.author,
    trust: schedule.trust,
    state: schedule.state,
    next_at: schedule.nextAt,
    created_at: schedule.createdAt,
    updated_at: schedule.createdAt,
  }
}

export function runOf(row: ScheduleRunRow): ScheduleRun {
  return {
    dueAt: Number(row.due_at),
    state: row.state,
    startedAt: timeOrNull(row.started_at),
    finishedAt: timeOrNull(row.finished_at),
    messageId: row.message_id,
    error: row.error,
  }
}

function timeOrNull(time: number | null): number | null {
  return time === null ? null : Number(time)
}
