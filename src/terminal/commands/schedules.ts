import { formatDuration, formatTime, oneLine } from '../../base/text.ts'
import { type ListedScheduleReply, type ScheduleRunReply, schedules } from '../../protocol/schedules.ts'
import { CommandError, type CommandHandler, exitCodes } from '../command.ts'
import { type Answer, type Api, apiCommand } from '../connect.ts'
import type { Output } from '../output.ts'

interface Named {
  schedule: string
}

/** The message, its times and the result of each run. */
export const showSchedule = apiCommand(
  schedules,
  async (api, { schedule }: Named) => api.show({ id: await idOf(api, schedule) }),
  printSchedule,
)

function printSchedule(schedule: Answer<typeof schedules.show>, output: Output): undefined {
  const { kind, expression, next_at, runs } = schedule
  const origin =
    schedule.trust === 'untrusted' ? 'untrusted: created while text of others was in the conversation' : null
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
    ['Trust', origin],
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

/** The id of the schedule with this id, beginning of an id, or name. */
async function idOf(api: Api<typeof schedules>, named: string): Promise<string> {
  const { schedules: known } = await api.list({ all: 'true' })
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

interface MessageInput extends PlaceInput {
  message: string[]
  at?: string
  cron?: string
}

/** A message that is sent later. */
export const addSchedule: CommandHandler<MessageInput> = async (context, input) => {
  if (input.at === undefined && input.cron === undefined) {
    throw new CommandError('No time given: use --at or --cron.', { exitCode: exitCodes.usage, code: 'bad_request' })
  }
  return addMessage(context, input)
}

const addMessage = addedBy((api, input: MessageInput) => {
  const { at, cron, message } = input
  return api.add({ at, cron, message: message.join(' '), ...placeOf(input) })
})

/** Off unless the user adds one. */
export const addHeartbeat = addedBy(
  (api, input: PlaceInput & { every?: string }) => api.heartbeat({ every: input.every, ...placeOf(input) }),
  'Each run is a model call, unless HEARTBEAT.md in the workspace is empty.',
)

function placeOf({ name, session, timeZone, catchUp }: PlaceInput) {
  return { name, session, time_zone: timeZone, catch_up: catchUp }
}

function addedBy<Input extends object>(
  work: (api: Api<typeof schedules>, input: Input) => Promise<Answer<typeof schedules.add>>,
  note?: string,
): CommandHandler<Input> {
  return apiCommand(
    schedules,
    work,
    ({ id, name, next_at }, output, _input, isServed) => {
      output.print(`${id}  ${name}${next_at === null ? '' : `, next ${formatTime(next_at)}`}`)
      if (!isServed) output.note(`Familiar is not running. Schedules run while it does: ${output.commandLine('serve')}`)
      if (note !== undefined) output.note(note)
    },
    { once: true },
  )
}

export const cancelSchedule = apiCommand(
  schedules,
  async (api, { schedule }: Named) => api.cancel({ id: await idOf(api, schedule) }),
  ({ name }) => `Deleted: ${name}`,
)

/** In addition to its times. */
export const runSchedule = apiCommand(
  schedules,
  async (api, { schedule }: Named) => api.run({ id: await idOf(api, schedule) }),
  ({ state, error }) =>
    state === 'begun'
      ? 'Queued. It is sent as soon as possible.'
      : `Result: ${state}${error === null ? '.' : `: ${error}`}`,
  { talks: true, once: true },
)

/** The next one comes first. */
export const listSchedules = apiCommand(
  schedules,
  (api, input: { all?: boolean }) => api.list({ all: input.all ? 'true' : 'false' }),
  (listed, output) => ({
    empty: 'No schedules.',
    header: ['Schedule', 'Next', 'When', 'Last run', 'Name'],
    rows: listed.schedules.map((schedule) => [
      schedule.id,
      schedule.next_at === null ? schedule.state : formatTime(schedule.next_at),
      schedule.kind === 'once' ? 'once' : schedule.expression,
      lastRunOf(output, schedule),
      oneLine(schedule.name, 100),
    ]),
  }),
)

function lastRunOf(output: Output, { last_run: run }: ListedScheduleReply): string {
  return run ? `${formatTime(run.due_at)} ${runStateOf(output, run)}` : ''
}

function runStateOf(output: Output, { state }: Pick<ScheduleRunReply, 'state'>): string {
  if (state === 'failed') return output.style('red', state)
  return state === 'late' || state === 'missed' ? output.style('yellow', state) : state
}
