import { expect } from 'vitest'
import { createIds } from '../../src/base/ids.ts'
import { type Logger, silentLogger } from '../../src/base/logger.ts'
import { createSchedules, type RunningSchedules } from '../../src/daemon/scheduler/create-schedules.ts'
import type { DeliveryNeeds } from '../../src/daemon/scheduler/deliver-run.ts'
import type { ScheduleRequest } from '../../src/tools/builtin/schedule-tools.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'
import { openScriptedFamiliar, type ScriptedFamiliar } from './scripted-familiar.ts'
import { createScriptedModel } from './scripted-model.ts'
import { waitFor } from './wait-for.ts'

/** Schedules over real conversations and a real database, on a clock that the test moves. */
export interface ScheduleScene {
  familiar: ScriptedFamiliar
  clock: ManualClock
  schedules: RunningSchedules
  warnings: string[]
  /** The content of HEARTBEAT.md. */
  heartbeat: Awaited<ReturnType<DeliveryNeeds['readHeartbeat']>>
  request(more: Partial<ScheduleRequest>): ScheduleRequest
  /** The delivered messages, oldest first. */
  messages(): Promise<{ text: string; label: string | undefined; source: string; sessionId: string }[]>
  /** `2026-11-15T09:30 late`, newest first. */
  runs(id: string): Promise<string[]>
  /** Moves on to a time, and waits until so many messages have arrived in all and nothing is on its way. */
  pass(until: string, messages: number): Promise<void>
  /** The machine sleeps: it is later then, but no timer has come nearer to its end. */
  sleep(milliseconds: number): void
  /** As after the end of the process and a new start, `laterMs` later. */
  restart(laterMs: number): Promise<void>
  close(): Promise<void>
}

export async function openSchedules(
  options: { start?: string; timeZone?: string; submit?: DeliveryNeeds['conversations']['submit'] } = {},
): Promise<ScheduleScene> {
  const clock = createManualClock(options.start === undefined ? undefined : Date.parse(options.start))
  const familiar = await openScriptedFamiliar({
    model: createScriptedModel({ script: () => ({ text: 'Understood.' }) }),
    clock,
    toml: '[memory]\nconversations = false\nextraction = false\n',
  })
  const { conversations, database, userId } = familiar
  const warnings: string[] = []
  const logger: Logger = {
    ...silentLogger,
    warn: (message, fields) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
    error: (message, fields) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
  }
  let sleptMs = 0
  const open = () =>
    createSchedules({
      database,
      conversations: { ...conversations, ...(options.submit && { submit: options.submit }) },
      readHeartbeat: async () => scene.heartbeat,
      clock: { now: () => clock.now() + sleptMs, after: clock.after },
      ids: createIds(clock),
      timeZone: options.timeZone ?? 'UTC',
      logger,
    })

  const scene: ScheduleScene = {
    familiar,
    clock,
    schedules: open(),
    warnings,
    heartbeat: undefined,
    request: (more) => ({
      userId,
      time: { cron: '0 7 * * *' },
      message: 'Good morning',
      session: 'main',
      author: 'user',
      trust: 'owner',
      ...more,
    }),
    async messages() {
      const rows = await database.read.selectFrom('inbox').selectAll().orderBy('received_at').execute()
      return rows.map((row) => ({ ...JSON.parse(row.data), sessionId: row.session_id }))
    },
    async runs(id) {
      const { runs } = await scene.schedules.show(userId, id)
      return runs.map(({ dueAt, state }) => `${new Date(dueAt).toISOString().slice(0, 16)} ${state}`)
    },
    async pass(until, count) {
      await clock.advance(Date.parse(until) - clock.now())
      await waitFor(async () => {
        expect(await scene.messages()).toHaveLength(count)
        const open = await database.read.selectFrom('schedule_runs').where('state', '=', 'begun').selectAll().execute()
        expect(open).toEqual([])
      })
      // Whatever has come by the timer is here; this waits for the end of its step.
      await scene.schedules.start()
    },
    sleep(milliseconds) {
      sleptMs += milliseconds
    },
    async restart(laterMs) {
      await scene.schedules.close()
      clock.setTime(clock.now() + laterMs)
      scene.schedules = open()
      await scene.schedules.start()
    },
    async close() {
      await scene.schedules.close()
      await familiar.close()
    },
  }
  return scene
}
