import { z } from 'zod'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import type { Schedules } from './schedules.ts'

export function createCancelScheduled({ schedules }: { schedules: Pick<Schedules, 'cancel'> }): Tool {
  return defineTool({
    name: 'cancel_scheduled',
    description: 'Cancel a scheduled message by its id.',
    input: z.object({ id: z.string().min(1) }),
    effect: 'idempotent',
    reach: () => ({ kind: 'acts', destination: 'schedule' }),
    async run({ id }, { userId }) {
      const schedule = await schedules.cancel(userId, id.trim())
      return succeeded(`Cancelled: ${schedule.id}. It does not come again.`)
    },
  })
}
