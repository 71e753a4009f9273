import { formatDuration, formatTime } from '../../base/format.ts'
import type { ScheduleRunReply, ShownScheduleReply } from '../../protocol/schedule-api.ts'
import type { CommandHandler } from '../command.ts'
import { printFields } from '../memory/describe-memory.ts'
import type { Output } from '../output.ts'
import { runStateOf } from './list-schedules.ts'
import { withSchedules } from './schedule-client.ts'

/** `familiar schedule show SCHEDULE`: what it says, when it comes and how each run went. */
export const showSchedule: CommandHandler<{ schedule: string }> = async (context, input) => {
  const schedule = await withSchedules(context, (client) => client.show(input.schedule))
  if (input.json) context.output.printJson(schedule)
  else printSchedule(context.output, schedule)
  return undefined
}

function printSchedule(output: Output, schedule: ShownScheduleReply): void {
  const { kind, expression, next_at, runs } = schedule
  output.print(output.style('bold', schedule.name))
  if (schedule.message) output.print(schedule.message)
  output.print()
  printFields(output, [
    ['Id', schedule.id],
    ['State', schedule.state],
    ['When', kind === 'once' ? `once, ${formatTime(expression)}` : `${kind} ${expression}`],
    ['Time zone', schedule.time_zone],
    ['Next', next_at && formatTime(next_at)],
    ['Session', schedule.session],
    ['When missed', policies[schedule.catch_up]],
    ['Made by', schedule.author === 'user' ? 'you' : 'Familiar'],
    ['Trust', schedule.trust === 'untrusted' ? 'untrusted: it was made with texts of others in sight' : null],
  ])
  if (runs.length === 0) return
  output.print('\nRuns:')
  output.printTable(runs.map((run) => [formatTime(run.due_at), runStateOf(output, run), delayOf(run), run.error ?? '']))
}

function delayOf({ state, due_at, finished_at }: ScheduleRunReply): string {
  if (state !== 'late' || finished_at === null) return ''
  return `by ${formatDuration(Date.parse(finished_at) - Date.parse(due_at))}`
}

const policies = { latest: 'the newest is sent late', all: 'all are sent late, ten at most', none: 'nothing is sent' }
