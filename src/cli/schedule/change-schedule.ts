import type { CommandHandler } from '../command.ts'
import { withSchedules, withSchedulesOnce } from './schedule-client.ts'

/** `familiar schedule cancel SCHEDULE`. */
export const cancelSchedule: CommandHandler<{ schedule: string }> = async (context, input) => {
  const { output } = context
  const schedule = await withSchedules(context, (client) => client.cancel(input.schedule))
  if (input.json) output.printJson(schedule)
  else output.print(`Cancelled: ${schedule.name}. It does not come again.`)
  return undefined
}

/** `familiar schedule run SCHEDULE`: beside its times. */
export const runSchedule: CommandHandler<{ schedule: string }> = async (context, input) => {
  const { output } = context
  const run = await withSchedulesOnce(context, (client) => client.run(input.schedule), { talks: true })
  if (input.json) output.printJson(run)
  else if (run.state === 'begun') output.print('It is written down, and sent as soon as Familiar can.')
  else output.print(`It is ${run.state}${run.error === null ? '.' : `: ${run.error}`}`)
  return undefined
}
