import type { Conversations } from '../../agent/conversations.ts'
import { parseCronExpression } from '../../base/cron-expression.ts'
import { reasonOf } from '../../base/text.ts'
import { type ErrorCode, FamiliarError } from '../../protocol/errors.ts'
import type { Label } from '../../protocol/messages.ts'
import type { Schedule, ScheduleRun } from '../../protocol/schedules.ts'
import { formatDue } from '../../tools/builtin/schedule-tools.ts'
import type { Essentials } from '../daemon.ts'
import type { RunEnd, ScheduleRecords } from './schedule-records.ts'

/** The source of the messages: no person speaks through it. */
const scheduleSource = 'schedule'

/** Not caused by the message: it is retried. */
const passing: ReadonlySet<ErrorCode> = new Set(['rate_limited', 'unavailable', 'storage_full'])

export interface DeliveryNeeds extends Pick<Essentials, 'database' | 'clock' | 'logger'> {
  conversations: Pick<Conversations, 'submit'>
  /** The current content of this user's HEARTBEAT.md and its trust; undefined if it does not exist. */
  readHeartbeat(userId: string): Promise<{ text: string; label: Label } | undefined>
  onStep?: OnScheduleStep
}

/**
 * Sends one recorded run, and records how it ended. The key of its message is the schedule and the time: after a kill
 * the message is found by it and not sent again. False if it has to wait.
 */
export function createDeliverRun(needs: DeliveryNeeds & { records: ScheduleRecords }) {
  const { conversations, database, records, clock, logger, onStep = () => undefined } = needs

  async function send(schedule: Schedule, { dueAt, startedAt }: ScheduleRun): Promise<RunEnd> {
    const key = `schedule:${schedule.id}:${new Date(dueAt).toISOString()}`
    const sent = await database.read
      .selectFrom('inbox')
      .select(['id', 'received_at'])
      .where('user_id', '=', schedule.userId)
      .where('key', '=', key)
      .executeTakeFirst()
    if (sent) return arrived(sent.id, Number(sent.received_at) - dueAt)
    if (schedule.state === 'cancelled') return { state: 'missed', error: 'It was cancelled.' }
    const { kind, message: text, trust: label } = schedule
    const said = kind === 'heartbeat' ? await needs.readHeartbeat(schedule.userId) : { text, label }
    if (!said || (kind === 'heartbeat' && said.text.trim() === ''))
      return { state: 'missed', error: 'HEARTBEAT.md is empty or does not exist.' }
    const now = Math.max(clock.now(), startedAt ?? 0)
    const { messageId } = await conversations.submit({
      userId: schedule.userId,
      channel: schedule.channel,
      contact: schedule.session,
      sender: `schedule:${schedule.id}`,
      source: scheduleSource,
      text: runMessage(schedule, said.text, { dueAt, now }),
      media: [],
      key,
      immediate: true,
      metadata: { schedule: schedule.id, due_at: new Date(dueAt).toISOString() },
      // Even the user's own text was written for later: it approves nothing that is asked now.
      label: said.label === 'untrusted' ? 'untrusted' : 'internal',
    })
    onStep('message_submitted')
    return arrived(messageId, now - dueAt)
  }

  return async function deliverRun(schedule: Schedule, run: ScheduleRun): Promise<boolean> {
    let end: RunEnd
    try {
      end = await send(schedule, run)
    } catch (cause) {
      const error = reasonOf(cause)
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

export const notRunning = 'Familiar was not running at that time, or the machine was asleep.'

/** A run that starts later than this after its time is late. */
export const punctualMs = 60_000
/** How many missed runs are made up for, newest first. */
const maxMadeUp = 10
/** How many missed runs are recorded at all, newest first. */
const maxWritten = 50

export interface DuePlan {
  /** The times whose runs start now, oldest first. */
  begins: number[]
  /** Times that passed without a run. */
  missed: number[]
  /** When it is due again; null if never. */
  next: number | null
}

/**
 * The due runs of a schedule, by its policy. A run that is due right now starts whatever the policy: that is about
 * times when Familiar was not running, or the machine was asleep.
 */
export function planDue(
  schedule: Pick<Schedule, 'kind' | 'expression' | 'timeZone' | 'catchUp'>,
  dueAt: number,
  now: number,
): DuePlan {
  const { passed, next } = timesOf(schedule, dueAt, now)
  const [newest] = passed
  const isPunctual = newest !== undefined && now - newest <= punctualMs
  const count = { latest: 1, all: maxMadeUp, none: isPunctual ? 1 : 0 }[schedule.catchUp]
  return { begins: passed.slice(0, count).reverse(), missed: passed.slice(count), next }
}

/** The times that have passed, newest first, and the next one; null if there is none. */
function timesOf(
  { kind, expression, timeZone }: Pick<Schedule, 'kind' | 'expression' | 'timeZone'>,
  dueAt: number,
  now: number,
): { passed: number[]; next: number | null } {
  if (kind === 'once') return { passed: dueAt > now ? [] : [dueAt], next: null }
  const cron = parseCronExpression(expression, timeZone)
  if (!cron.ok) return { passed: [], next: null }
  return { passed: dueAt > now ? [] : cron.value.between(dueAt, now, maxWritten), next: cron.value.next(now) ?? null }
}

/**
 * The delivered text: the message after a line that says why it comes now. Without that, "Call Anna" would read as a
 * new request.
 */
function runMessage(
  { name, timeZone, kind }: Pick<Schedule, 'name' | 'timeZone' | 'kind'>,
  text: string,
  { dueAt, now }: { dueAt: number; now: number },
): string {
  const what = kind === 'heartbeat' ? 'Heartbeat' : `Scheduled message ${JSON.stringify(name)}`
  const late = now - dueAt > punctualMs ? `, ${describeDelay(now - dueAt)} late` : ''
  const end = kind === 'heartbeat' ? '\n\nIf nothing needs the user, answer HEARTBEAT_OK and nothing else.' : ''
  return `[${what}, due ${formatDue(dueAt, timeZone)}${late}]\n${text}${end}`
}

function describeDelay(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`
}

/**
 * The durable steps of a delivery, in order. The crash suite kills the process at each one; nothing else may depend on
 * them.
 */
export const scheduleStepNames = ['run_written', 'message_submitted', 'run_closed'] as const

type ScheduleStepName = (typeof scheduleStepNames)[number]
type OnScheduleStep = (step: ScheduleStepName) => void
