import { z } from 'zod'
import { defineTool, failed, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { describeSchedule } from './describe-schedule.ts'
import type { Schedules } from './schedules.ts'

/** Always to the conversation that it is called in: what was seen here is known there. */
export function createScheduleMessage({ schedules }: { schedules: Pick<Schedules, 'add'> }): Tool {
  return defineTool({
    name: 'schedule_message',
    description:
      'Have a message come to you in this conversation later, so that you act on it or remind the user. Give `at` for once or `cron` for again and again.',
    input: z.object({
      message: z.string().min(1).describe('What you are to do or say then'),
      at: z.string().optional().describe('ISO 8601, or such as "in 20 minutes", "tomorrow at 9:00"'),
      cron: z.string().optional().describe('Five fields, or "*/30" for every 30 minutes'),
      name: z.string().optional(),
      time_zone: z.string().optional().describe('Where it is not the user’s own'),
      catch_up: z
        .enum(['latest', 'all', 'none'])
        .optional()
        .describe('What to do about times missed while not running'),
    }),
    effect: 'idempotent',
    reach: () => ({ kind: 'acts', destination: 'schedule' }),
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
  })
}
