import type { Conversations } from '../../agent/conversations.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { type ErrorCode, FamiliarError } from '../../protocol/error.ts'
import type { Label } from '../../protocol/label.ts'
import type { Database } from '../../storage/database.ts'
import type { Schedule, ScheduleRun } from '../../tools/schedules/schedules.ts'
import { punctualMs } from './plan-due.ts'
import { runMessage } from './run-message.ts'
import type { RunEnd, ScheduleRecords } from './schedule-records.ts'
import type { OnScheduleStep } from './schedule-step.ts'

/** The source of the messages: nobody speaks through it. */
const scheduleSource = 'schedule'

/** Not the fault of the message: it is tried again. */
const passing: ReadonlySet<ErrorCode> = new Set(['rate_limited', 'unavailable', 'storage_full'])

export interface DeliveryNeeds {
  conversations: Pick<Conversations, 'submit'>
  database: Database
  /** What HEARTBEAT.md of this user says now and whose words it is; undefined where it is not there. */
  readHeartbeat(userId: string): Promise<{ text: string; label: Label } | undefined>
  clock: Clock
  logger: Logger
  onStep?: OnScheduleStep
}

/**
 * Sends one run that is written down, and writes down how it ended. The key of its message is the schedule and the time:
 * whoever was killed in between finds the message by it and does not send it again. False where it has to wait.
 */
export function createDeliverRun(needs: DeliveryNeeds & { records: ScheduleRecords }) {
  const { conversations, database, records, clock, logger, onStep = () => undefined } = needs

  async function send(schedule: Schedule, { dueAt, startedAt }: ScheduleRun): Promise<RunEnd> {
    const key = `schedule:${schedule.id}:${new Date(dueAt).toISOString()}`
    const sent = await findMessage(database, schedule.userId, key)
    if (sent) return arrived(sent.id, Number(sent.received_at) - dueAt)
    if (schedule.state === 'cancelled') return { state: 'missed', error: 'It was cancelled.' }
    const said = await wordsOf(schedule)
    if (!said) return { state: 'missed', error: 'HEARTBEAT.md is empty or not there.' }
    const now = Math.max(clock.now(), startedAt ?? 0)
    const { messageId } = await conversations.submit({
      userId: schedule.userId,
      channel: schedule.channel,
      contact: schedule.contact,
      sender: `schedule:${schedule.id}`,
      source: scheduleSource,
      text: runMessage(schedule, said.text, { dueAt, now }),
      media: [],
      key,
      immediate: true,
      metadata: { schedule: schedule.id, due_at: new Date(dueAt).toISOString() },
      // Also what the user wrote was written for then: it is their word for nothing that is asked now.
      label: said.label === 'untrusted' ? 'untrusted' : 'internal',
    })
    onStep('message_submitted')
    return arrived(messageId, now - dueAt)
  }

  async function wordsOf({
    kind,
    userId,
    message,
    trust,
  }: Schedule): Promise<{ text: string; label: Label } | undefined> {
    if (kind !== 'heartbeat') return { text: message, label: trust }
    const heartbeat = await needs.readHeartbeat(userId)
    return heartbeat?.text.trim() ? heartbeat : undefined
  }

  return async function deliverRun(schedule: Schedule, run: ScheduleRun): Promise<boolean> {
    let end: RunEnd
    try {
      end = await send(schedule, run)
    } catch (cause) {
      const error = cause instanceof Error ? cause.message : String(cause)
      logger.warn('a scheduled message could not be sent', { schedule: schedule.id, due: run.dueAt, error })
      if (cause instanceof FamiliarError && passing.has(cause.code)) return false
      end = { state: 'failed', error }
    }
    await records.close(schedule.id, run.dueAt, end)
    onStep('run_closed')
    return true
  }
}

function arrived(messageId: string, delayMs: number): RunEnd {
  return { state: delayMs > punctualMs ? 'late' : 'delivered', messageId }
}

function findMessage(database: Database, userId: string, key: string) {
  return database.read
    .selectFrom('inbox')
    .select(['id', 'received_at'])
    .where('user_id', '=', userId)
    .where('key', '=', key)
    .executeTakeFirst()
}
