import type { Commands } from '../../../agent/commands/commands.ts'
import type { Conversations } from '../../../agent/conversations.ts'
import {
  type CommandsReply,
  type CompleteCommandReply,
  commandsReplySchema,
  completeCommandQuerySchema,
  completeCommandReplySchema,
  type RunCommandReply,
  runCommandReplySchema,
  runCommandRequestSchema,
} from '../../../protocol/command-api.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import { callerOf } from '../guards/token-guard.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/** The commands of the chat, for clients (CMD-1). */
export function createCommandRoutes(dependencies: {
  commands: Commands
  conversations: Pick<Conversations, 'findSession'>
}): Route[] {
  const { commands, conversations } = dependencies

  /** Another user's is as unknown as one that never was (SEC-22). */
  async function sessionIdOf(userId: string, name: string | undefined): Promise<string | null> {
    if (name === undefined) return null
    const session = await conversations.findSession(userId, name)
    if (session) return session.id
    throw new FamiliarError('not_found', `There is no session ${JSON.stringify(name)}`)
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/commands',
      summary: 'The commands that can be typed with a slash.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: commandsReplySchema },
      handle() {
        const reply: CommandsReply = {
          commands: commands.list().map(({ name, usage, summary, changesForGood, agentMay }) => {
            return { name, usage, summary, changes_for_good: changesForGood, agent_may: agentMay }
          }),
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/commands/complete',
      summary: 'What may stand next in a line: names of commands, then what fits behind the name.',
      auth: 'token',
      scope: 'read',
      query: completeCommandQuerySchema,
      reply: { status: 200, schema: completeCommandReplySchema },
      async handle({ context, query }) {
        const { userId } = callerOf(context)
        const sessionId = await sessionIdOf(userId, query.session)
        const { start, candidates } = await commands.complete({ userId, sessionId, line: query.line })
        return jsonReply({ start, candidates: [...candidates] } satisfies CompleteCommandReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/commands',
      summary: 'Run one line. What changes something for good comes back as a question first, and nothing was done.',
      auth: 'token',
      scope: 'owner',
      body: runCommandRequestSchema,
      reply: { status: 200, schema: runCommandReplySchema },
      async handle({ context, body }) {
        const { userId } = callerOf(context)
        const sessionId = await sessionIdOf(userId, body.session)
        const { line, confirm } = body
        const { signal } = context.req.raw
        const outcome = await commands.run({ userId, sessionId, line, confirm, by: 'user', signal })
        const reply: RunCommandReply = {
          ok: outcome.ok,
          text: outcome.text,
          question: outcome.question ?? null,
          goes_on_in: outcome.goesOnIn ?? null,
        }
        return jsonReply(reply)
      },
    }),
  ]
}
