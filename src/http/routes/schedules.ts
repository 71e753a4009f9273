import type { Commands } from '../../agent/commands/create-commands.ts'
import type { Conversations } from '../../agent/conversations.ts'
import * as commandApi from '../../protocol/commands.ts'
import * as api from '../../protocol/schedules.ts'
import type { Schedules } from '../../tools/builtin/schedule-tools.ts'
import { requireSession } from '../chat-replies.ts'
import { handle, type Route } from '../route.ts'

/** Scheduled messages. A token that may chat for the user may schedule a message. */
export function createScheduleRoutes(schedules: Schedules): Route[] {
  const byUser = { author: 'user', trust: 'owner' } as const
  return [
    handle(api.schedules.list, async ({ userId, query }) => {
      const listed = await schedules.list(userId, { all: query.all === 'true' })
      return { schedules: listed.map(({ schedule, lastRun }) => ({ ...schedule, lastRun })) }
    }),
    handle(api.schedules.add, ({ userId, body: { at, cron = '', ...rest } }) =>
      schedules.add({ ...rest, ...byUser, userId, time: at === undefined ? { cron } : { at } }),
    ),
    handle(api.schedules.preview, ({ body: { at, cron, every = '', timeZone } }) =>
      schedules.preview(at !== undefined ? { at } : cron !== undefined ? { cron } : { every }, timeZone),
    ),
    handle(api.schedules.heartbeat, ({ userId, body: { every, ...rest } }) =>
      schedules.add({ ...rest, ...byUser, userId, time: { every }, message: '' }),
    ),
    handle(api.schedules.show, async ({ userId, params }) => {
      const { schedule, runs } = await schedules.show(userId, params.id)
      return { ...schedule, runs }
    }),
    handle(api.schedules.cancel, ({ userId, params }) => schedules.cancel(userId, params.id)),
    handle(api.schedules.run, ({ userId, params }) => schedules.run(userId, params.id)),
  ]
}

/** Slash commands for clients (CMD-1). */
export function createCommandRoutes(dependencies: {
  commands: Commands
  conversations: Pick<Conversations, 'findSession'>
}): Route[] {
  const { commands, conversations } = dependencies

  async function sessionIdOf(userId: string, name: string | undefined): Promise<string | null> {
    return name === undefined ? null : (await requireSession(conversations, userId, name)).id
  }

  return [
    handle(commandApi.commands.list, () => ({ commands: commands.list() })),
    handle(commandApi.commands.complete, async ({ userId, query }) => {
      const sessionId = await sessionIdOf(userId, query.session)
      return commands.complete({ userId, sessionId, line: query.line })
    }),
    handle(commandApi.commands.run, async ({ userId, body, signal }) => {
      const sessionId = await sessionIdOf(userId, body.session)
      const { line, confirm } = body
      const outcome = await commands.run({ userId, sessionId, line, confirm, by: 'user', signal })
      return { ...outcome, question: outcome.question ?? null, goesOnIn: outcome.goesOnIn ?? null }
    }),
  ]
}
