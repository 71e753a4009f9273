import * as api from '../../protocol/schedule-api.ts'
import type { ApiTransport } from '../api-transport.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { type Connection, type ConnectOptions, connect, withFamiliar } from '../connect.ts'

/** What can be asked of schedules over HTTP, typed. One is named by its id, its beginning, or its name. */
interface ScheduleClient {
  add(request: api.ScheduleRequestInput): Promise<api.ScheduleReply>
  heartbeat(request: api.HeartbeatRequestInput): Promise<api.ScheduleReply>
  list(options: { all: boolean }): Promise<api.ListedScheduleReply[]>
  show(named: string): Promise<api.ShownScheduleReply>
  cancel(named: string): Promise<api.ScheduleReply>
  run(named: string): Promise<api.ScheduleRunReply>
}

/** `withFamiliar` for what is asked of schedules. */
export function withSchedules<T>(context: CommandContext, work: (schedules: ScheduleClient) => Promise<T>): Promise<T> {
  return withFamiliar(context, ({ transport }) => work(createClient(transport)))
}

/** The same for what may have been done before Familiar went away: nothing of it is done again. */
export async function withSchedulesOnce<T>(
  context: CommandContext,
  work: (schedules: ScheduleClient, connection: Connection) => Promise<T>,
  options?: ConnectOptions,
): Promise<T> {
  const connection = await connect(context, options)
  try {
    return await work(createClient(connection.client.transport), connection)
  } finally {
    await connection.close()
  }
}

function createClient({ ask }: ApiTransport): ScheduleClient {
  const one = (id: string, rest = '') => `/schedules/${encodeURIComponent(id)}${rest}`
  const list = async (all: boolean) => (await ask(`/schedules?all=${all}`, api.schedulesReplySchema)).schedules

  async function idOf(named: string): Promise<string> {
    const known = await list(true)
    if (known.some(({ id }) => id === named)) return named
    const meant = known.filter(({ id, name }) => id.startsWith(named) || name === named)
    const [first = { id: named }, ...more] = meant.length > 1 ? meant.filter(isActive) : meant
    if (more.length === 0) return first.id
    throw new CommandError(`Several schedules are called ${JSON.stringify(named)} or begin so.`, {
      code: 'bad_request',
      hint: 'Give the whole id: familiar schedule list',
    })
  }

  return {
    add: (request) => ask('/schedules', api.scheduleReplySchema, { body: request }),
    heartbeat: (request) => ask('/schedules/heartbeat', api.scheduleReplySchema, { body: request }),
    list: ({ all }) => list(all),
    show: async (named) => ask(one(await idOf(named)), api.shownScheduleReplySchema),
    cancel: async (named) => ask(one(await idOf(named)), api.scheduleReplySchema, { method: 'DELETE' }),
    run: async (named) => ask(one(await idOf(named), '/run'), api.scheduleRunReplySchema, { body: {} }),
  }
}

function isActive({ state }: api.ListedScheduleReply): boolean {
  return state === 'active'
}
