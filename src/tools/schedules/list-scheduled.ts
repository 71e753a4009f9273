import { z } from 'zod'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { describeSchedule } from './describe-schedule.ts'
import type { Schedules } from './schedules.ts'

const mostShown = 50

export function createListScheduled({ schedules }: { schedules: Pick<Schedules, 'list'> }): Tool {
  return defineTool({
    name: 'list_scheduled',
    description: 'List the messages that are scheduled, with their ids and how their last run went.',
    input: z.object({ all: z.boolean().optional().describe('Those that are over, too') }),
    effect: 'idempotent',
    async run({ all }, { userId }) {
      const listed = await schedules.list(userId, { all: all ?? false })
      if (listed.length === 0) return succeeded('Nothing is scheduled.')
      const shown = listed.slice(0, mostShown)
      const lines = shown.map(({ schedule, lastRun }) => describeSchedule(schedule, lastRun))
      if (listed.length > shown.length) lines.push(`… and ${listed.length - shown.length} more.`)
      const isUntrusted = shown.some(({ schedule }) => schedule.trust === 'untrusted')
      return { ...succeeded(lines.join('\n')), isPrivate: true, ...(isUntrusted && { label: 'untrusted' }) }
    },
  })
}
