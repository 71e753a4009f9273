import { randomUUID } from 'node:crypto'
import type { ChatCommand, ChatCommands, ChatPartner } from '../channels/terminal/chat-partner.ts'
import { completeCommandReplySchema, type RunCommandRequest, runCommandReplySchema } from '../protocol/command-api.ts'
import type { CommandContext } from './command.ts'
import { CommandError } from './command-error.ts'
import { type Connection, connect, isGone } from './connect.ts'
import { cliChannel, findSession } from './find-session.ts'
import { formatDuration } from './format.ts'

/** One chat at a terminal: the session it is in, which may change, and the connection, which may break and come back. */
export interface ChatSession {
  partner: ChatPartner
  commands: ChatCommands
  /** What the terminal tells of itself. */
  ownCommands: Record<string, ChatCommand>
  close(): Promise<void>
}

export function openChatSession(
  context: CommandContext,
  options: { session: string; connection: Connection },
): ChatSession {
  let { session, connection } = options
  const client = () => connection.client
  const current = () => findSession(client(), session)

  async function reconnect(): Promise<void> {
    await connection.close()
    connection = await connect(context, { talks: true })
  }

  const partner: ChatPartner = {
    async *say(text) {
      const message = { message: text, session, channel: cliChannel, source: cliChannel, key: randomUUID() }
      try {
        yield* client().chatEvents(message)
      } catch (error) {
        if (!connection.daemon || !isGone(error)) throw error
        // The same key: if the message arrived before the line broke, its turn goes on and no second one begins.
        await reconnect()
        yield* client().chatEvents(message)
      }
    },
    async stop() {
      const found = await current().catch(noneYet)
      return found ? (await client().stop(found.id)).stopped : false
    },
  }

  const commands: ChatCommands = {
    async run(line, confirm) {
      const found = await current().catch(noneYet)
      const body: RunCommandRequest = { line, confirm, session: found?.id }
      const reply = await client().transport.ask('/commands', runCommandReplySchema, { body })
      if (reply.goes_on_in !== null) session = reply.goes_on_in
      return { text: reply.text, confirm: reply.question?.confirm }
    },
    async complete(line) {
      const found = await current().catch(noneYet)
      const query = new URLSearchParams({ line, ...(found && { session: found.id }) })
      const { transport } = client()
      const { start, candidates } = await transport.ask(`/commands/complete?${query}`, completeCommandReplySchema)
      return { start, candidates: candidates.map(({ text }) => (candidates.length === 1 ? `${text} ` : text)) }
    },
  }

  const ownCommands: Record<string, ChatCommand> = {
    status: {
      help: 'what runs and which model answers',
      async run() {
        const { version, uptime_seconds, stats } = await client().status()
        const load = stats ? `, ${stats.turns_running} running, ${stats.messages_waiting} waiting` : ''
        return [`Familiar ${version}, up ${formatDuration(uptime_seconds * 1_000)}, ${stats?.model ?? ''}${load}`]
      },
    },
  }
  return { partner, commands, ownCommands, close: () => connection.close() }
}

function noneYet(error: unknown): undefined {
  if (!(error instanceof CommandError && error.code === 'not_found')) throw error
}
