import { formatTime } from '../../base/format.ts'
import type { ScheduleReply } from '../../protocol/schedule-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError, exitCodes } from '../command-error.ts'
import { withSchedulesOnce } from './schedule-client.ts'

interface PlaceInput {
  name?: string
  session?: string
  timeZone?: string
  catchUp?: 'latest' | 'all' | 'none'
}

/** `familiar schedule add`: a message that is sent later. */
export const addSchedule: CommandHandler<PlaceInput & { message: string[]; at?: string; cron?: string }> = async (
  context,
  input,
) => {
  const { at, cron, message } = input
  if (at === undefined && cron === undefined) {
    throw new CommandError('When? Give --at or --cron.', { exitCode: exitCodes.usage, code: 'bad_request' })
  }
  const request = { at, cron, message: message.join(' '), ...placeOf(input) }
  const added = await withSchedulesOnce(context, async (schedules, { daemon }) => ({
    schedule: await schedules.add(request),
    isServed: daemon !== undefined,
  }))
  tellAdded(context, input, added)
  return undefined
}

/** `familiar schedule heartbeat`: there is none unless the user makes one. */
export const addHeartbeat: CommandHandler<PlaceInput & { every?: string }> = async (context, input) => {
  const request = { every: input.every, ...placeOf(input) }
  const added = await withSchedulesOnce(context, async (schedules, { daemon }) => ({
    schedule: await schedules.heartbeat(request),
    isServed: daemon !== undefined,
  }))
  tellAdded(context, input, added)
  if (!input.json) context.output.note('Each one is a call of a model, unless HEARTBEAT.md in the workspace is empty.')
  return undefined
}

function placeOf({ name, session, timeZone, catchUp }: PlaceInput) {
  return { name, session, time_zone: timeZone, catch_up: catchUp }
}

function tellAdded(
  { output }: CommandContext,
  { json }: { json?: boolean },
  { schedule, isServed }: { schedule: ScheduleReply; isServed: boolean },
): void {
  if (json) {
    output.printJson(schedule)
    return
  }
  const when = schedule.next_at === null ? '' : `, next ${formatTime(schedule.next_at)}`
  output.print(`${schedule.id}  ${schedule.name}${when}`)
  if (!isServed) output.note('Familiar is not running: it is sent when it runs. familiar serve')
}
