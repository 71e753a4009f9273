import { formatTime, oneLine } from '../../base/format.ts'
import type { ListedScheduleReply, ScheduleRunReply } from '../../protocol/schedule-api.ts'
import type { CommandHandler } from '../command.ts'
import type { Output } from '../output.ts'
import { withSchedules } from './schedule-client.ts'

/** `familiar schedule list`: what is to come, the next one first. */
export const listSchedules: CommandHandler<{ all?: boolean }> = async (context, input) => {
  const { output } = context
  const schedules = await withSchedules(context, (client) => client.list({ all: input.all ?? false }))
  if (input.json) output.printJson({ schedules })
  else if (schedules.length === 0) output.print('Nothing is scheduled.')
  else {
    output.printTable(
      schedules.map((schedule) => [
        schedule.id,
        schedule.next_at === null ? schedule.state : formatTime(schedule.next_at),
        schedule.kind === 'once' ? 'once' : schedule.expression,
        lastRunOf(output, schedule),
        oneLine(schedule.name, 100),
      ]),
      { header: ['Schedule', 'Next', 'When', 'Last run', 'Name'] },
    )
  }
  return undefined
}

function lastRunOf(output: Output, { last_run: run }: ListedScheduleReply): string {
  return run ? `${formatTime(run.due_at)} ${runStateOf(output, run)}` : ''
}

export function runStateOf(output: Output, { state }: Pick<ScheduleRunReply, 'state'>): string {
  if (state === 'failed') return output.style('red', state)
  return state === 'late' || state === 'missed' ? output.style('yellow', state) : state
}
