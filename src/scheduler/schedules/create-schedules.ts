import type { Conversations } from '../../agent/conversations.ts'
import { sha256 } from '../../base/hash.ts'
import type { Ids } from '../../base/ids.ts'
import { isSessionId } from '../../channels/http/inbound-message.ts'
import { FamiliarError } from '../../protocol/error.ts'
import { isWorkChannel } from '../../sessions/work-channels.ts'
import type { Schedule, ScheduleRequest, Schedules } from '../../tools/schedules/schedules.ts'
import { createAlarm } from '../alarm.ts'
import { createDeliverRun, type DeliveryNeeds } from './deliver-run.ts'
import { draftSchedule, previewSchedule } from './draft-schedule.ts'
import { planDue } from './plan-due.ts'
import { createScheduleRecords } from './schedule-records.ts'

const retryMs = 60_000
const notRunning = 'Familiar was not running at that time, or the machine slept.'

export interface RunningSchedules extends Schedules {
  /** Takes up what a crash left, makes up for what was missed, and begins. After the conversations have recovered. */
  start(): Promise<void>
  /** Another daemon has written to the schedules. Nothing where these have not been started. */
  look(): Promise<void>
  /** Begins nothing more and waits for what is on its way. What is left goes on at the next start. */
  close(): Promise<void>
}

/**
 * Messages that are sent later. The next time of each lies in the database before it comes, and every run is written
 * down before it is sent. One timer for all of them; where nothing is scheduled there is none, and nothing happens.
 */
export function createSchedules(
  needs: DeliveryNeeds & {
    conversations: Pick<Conversations, 'submit' | 'findSession'>
    ids: Ids
    /** Of a schedule that names none. */
    timeZone: string
  },
): RunningSchedules {
  const { conversations, clock, ids, logger, onStep = () => undefined } = needs
  const records = createScheduleRecords(needs)
  const deliverRun = createDeliverRun({ ...needs, records })
  const alarm = createAlarm({ clock, onTime: () => void look() })
  let steps = Promise.resolve()
  let isRunning = false

  /** Writes down what has come due, sends what is written down, and waits for the next. */
  async function step(): Promise<void> {
    if (!isRunning) return
    try {
      await writeDue()
      const isDone = await deliverBegun()
      const { schedules, nextAt } = await records.due(clock.now())
      const next = schedules.length > 0 ? clock.now() : nextAt
      wakeAt(isDone ? next : Math.min(next ?? Number.POSITIVE_INFINITY, clock.now() + retryMs))
    } catch (cause) {
      logger.error('what is scheduled could not be read or written; it is tried again', { error: cause })
      wakeAt(clock.now() + retryMs)
    }
  }

  async function writeDue(): Promise<void> {
    const { schedules } = await records.due(clock.now())
    for (const schedule of schedules) {
      const plan = planDue(schedule, schedule.nextAt, clock.now())
      if (!(await records.moveOn(schedule, plan, notRunning))) continue
      if (plan.begins.length > 0) onStep('run_written')
      if (plan.missed.length > 0) {
        const told = { schedule: schedule.id, missed: plan.missed.length, made_up: plan.begins.length }
        logger.warn('scheduled messages were missed', told)
      }
    }
  }

  /** False where something has to wait. */
  async function deliverBegun(): Promise<boolean> {
    let isDone = true
    for (const { schedule, run } of await records.begun()) {
      if (!isRunning) return true
      if (!(await deliverRun(schedule, run))) isDone = false
    }
    return isDone
  }

  function wakeAt(time: number | undefined): void {
    alarm.set(isRunning ? time : undefined)
  }

  function look(): Promise<void> {
    steps = steps.then(step)
    return steps
  }

  async function own(userId: string, id: string): Promise<Schedule> {
    const schedule = await records.find(userId, id)
    if (!schedule) throw new FamiliarError('not_found', `There is no schedule ${id.slice(0, 80).toWellFormed()}.`)
    return schedule
  }

  /** Where the messages go. Work in the background is no place that anybody could be reached at. */
  async function placeOf({ userId, session: named }: ScheduleRequest): Promise<{ channel: string; contact: string }> {
    const session = await conversations.findSession(userId, named)
    if (session && !isWorkChannel(session.channel)) return { channel: session.channel, contact: session.contact }
    if (session || isSessionId(named)) throw new FamiliarError('not_found', `There is no session ${named}`)
    return { channel: 'http', contact: named.trim() }
  }

  return {
    preview: (time, timeZone = needs.timeZone) => previewSchedule(time, { now: clock.now(), timeZone }),
    async add(request) {
      const { userId, key } = request
      const id = key === undefined ? ids.next() : sha256(`${userId}:${key}`).slice(0, 32)
      const place = await placeOf(request)
      const draft = draftSchedule(request, { id, ...place, now: clock.now(), timeZone: needs.timeZone })
      const schedule = await records.insert(draft)
      await look()
      return schedule
    },
    list: (userId, { all = false } = {}) => records.list(userId, { all }),
    async show(userId, id) {
      const schedule = await own(userId, id)
      return { schedule, runs: await records.runs(schedule.id) }
    },
    async cancel(userId, id) {
      await own(userId, id)
      await records.cancel(userId, id)
      const schedule = await own(userId, id)
      if (schedule.state === 'done')
        throw new FamiliarError('conflict', 'It has come already, and does not come again.')
      await look()
      return schedule
    },
    async run(userId, id) {
      const schedule = await own(userId, id)
      if (schedule.state === 'cancelled') throw new FamiliarError('conflict', 'It was cancelled.')
      const dueAt = clock.now()
      await records.begin(schedule.id, dueAt)
      onStep('run_written')
      await look()
      const run = (await records.runs(schedule.id)).find((one) => one.dueAt === dueAt)
      if (!run) throw new FamiliarError('internal', `The run of schedule ${id} is not there`)
      return run
    },
    async start() {
      isRunning = true
      await look()
    },
    look,
    async close() {
      isRunning = false
      alarm.set(undefined)
      await steps
    },
  }
}
