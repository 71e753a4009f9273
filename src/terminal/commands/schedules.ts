import { formatDuration, formatTime, oneLine } from '../../base/text.ts'
import {
  type ListedScheduleReply,
  type ScheduleReply,
  type ScheduleRunReply,
  type ShownScheduleReply,
  schedules,
} from '../../protocol/schedules.ts'
import { type CommandContext, CommandError, type CommandHandler, exitCodes } from '../command.ts'
import { type ApiClient, withFamiliar } from '../connect.ts'
import type { Output } from '../output.ts'

/** `familiar schedules show SCHEDULE`: what it says, when it comes and how each run went. */
export const showSchedule: CommandHandler<{ schedule: string }> = async (context, input) => {
  const schedule = await withFamiliar(context, async (client) =>
    client.api(schedules).show({ id: await idOf(client, input.schedule) }),
  )
  return context.output.report(input.json, schedule, () => printSchedule(context.output, schedule))
}

function printSchedule(output: Output, schedule: ShownScheduleReply): void {
  const { kind, expression, next_at, runs } = schedule
  output.print(output.style('bold', schedule.name))
  if (schedule.message) output.print(schedule.message)
  output.print()
  output.printFields([
    ['Id', schedule.id],
    ['State', schedule.state],
    ['When', kind === 'once' ? `once, ${formatTime(expression)}` : `${kind} ${expression}`],
    ['Time zone', schedule.time_zone],
    ['Next', next_at && formatTime(next_at)],
    ['Session', schedule.session],
    ['Missed runs', policies[schedule.catch_up]],
    ['Made by', schedule.author === 'user' ? 'you' : 'Familiar'],
    [
      'Trust',
      schedule.trust === 'untrusted' ? 'untrusted: created while text of others was in the conversation' : null,
    ],
  ])
  if (runs.length === 0) return
  output.print('\nRuns:')
  output.printTable(runs.map((run) => [formatTime(run.due_at), runStateOf(output, run), delayOf(run), run.error ?? '']))
}

function delayOf({ state, due_at, finished_at }: ScheduleRunReply): string {
  if (state !== 'late' || finished_at === null) return ''
  return `by ${formatDuration(Date.parse(finished_at) - Date.parse(due_at))}`
}

const policies = { latest: 'run the latest late', all: 'run all late, ten at most', none: 'skip' }

/** The id of the schedule that a person means: by its id, its beginning, or its name. */
async function idOf({ api }: ApiClient, named: string): Promise<string> {
  const { schedules: known } = await api(schedules).list({ all: 'true' })
  if (known.some(({ id }) => id === named)) return named
  const meant = known.filter(({ id, name }) => id.startsWith(named) || name === named)
  const [first = { id: named }, ...more] = meant.length > 1 ? meant.filter(({ state }) => state === 'active') : meant
  if (more.length === 0) return first.id
  throw new CommandError(`Several schedules match ${JSON.stringify(named)}.`, {
    code: 'bad_request',
    hint: 'Give the whole id: familiar schedules',
  })
}

interface PlaceInput {
  name?: string
  session?: string
  timeZone?: string
  catchUp?: 'latest' | 'all' | 'none'
}

/** `familiar schedules add`: a message that is sent later. */
export const addSchedule: CommandHandler<PlaceInput & { message: string[]; at?: string; cron?: string }> = async (
  context,
  input,
) => {
  const { at, cron, message } = input
  if (at === undefined && cron === undefined) {
    throw new CommandError('No time given: use --at or --cron.', { exitCode: exitCodes.usage, code: 'bad_request' })
  }
  const request = { at, cron, message: message.join(' '), ...placeOf(input) }
  const added = await withFamiliar(
    context,
    async ({ api }, { daemon }) => ({ schedule: await api(schedules).add(request), isServed: daemon !== undefined }),
    { once: true },
  )
  tellAdded(context, input, added)
  return undefined
}

/** `familiar schedules heartbeat`: off unless the user adds one. */
export const addHeartbeat: CommandHandler<PlaceInput & { every?: string }> = async (context, input) => {
  const request = { every: input.every, ...placeOf(input) }
  const added = await withFamiliar(
    context,
    async ({ api }, { daemon }) => ({
      schedule: await api(schedules).heartbeat(request),
      isServed: daemon !== undefined,
    }),
    { once: true },
  )
  tellAdded(context, input, added)
  if (!input.json) context.output.note('Each run is a model call, unless HEARTBEAT.md in the workspace is empty.')
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
  if (!isServed) output.note('Familiar is not running. Schedules run while it does: familiar serve')
}

/** `familiar schedules remove SCHEDULE`. */
export const cancelSchedule: CommandHandler<{ schedule: string }> = async (context, input) => {
  const { output } = context
  const schedule = await withFamiliar(context, async (client) =>
    client.api(schedules).cancel({ id: await idOf(client, input.schedule) }),
  )
  return output.report(input.json, schedule, `Deleted: ${schedule.name}`)
}

/** `familiar schedules run SCHEDULE`: in addition to its times. */
export const runSchedule: CommandHandler<{ schedule: string }> = async (context, input) => {
  const { output } = context
  const run = await withFamiliar(
    context,
    async (client) => client.api(schedules).run({ id: await idOf(client, input.schedule) }),
    { talks: true, once: true },
  )
  if (input.json) output.printJson(run)
  else if (run.state === 'begun') output.print('Queued. It is sent as soon as possible.')
  else output.print(`Result: ${run.state}${run.error === null ? '.' : `: ${run.error}`}`)
  return undefined
}

/** `familiar schedules list`: what is to come, the next one first. */
export const listSchedules: CommandHandler<{ all?: boolean }> = async (context, input) => {
  const { output } = context
  const all = input.all ? 'true' : 'false'
  const listed = await withFamiliar(context, ({ api }) => api(schedules).list({ all }))
  return output.list(input.json, {
    value: listed,
    empty: 'No schedules.',
    header: ['Schedule', 'Next', 'When', 'Last run', 'Name'],
    rows: listed.schedules.map((schedule) => [
      schedule.id,
      schedule.next_at === null ? schedule.state : formatTime(schedule.next_at),
      schedule.kind === 'once' ? 'once' : schedule.expression,
      lastRunOf(output, schedule),
      oneLine(schedule.name, 100),
    ]),
  })
}

function lastRunOf(output: Output, { last_run: run }: ListedScheduleReply): string {
  return run ? `${formatTime(run.due_at)} ${runStateOf(output, run)}` : ''
}

function runStateOf(output: Output, { state }: Pick<ScheduleRunReply, 'state'>): string {
  if (state === 'failed') return output.style('red', state)
  return state === 'late' || state === 'missed' ? output.style('yellow', state) : state
}
