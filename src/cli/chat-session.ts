import { randomUUID } from 'node:crypto'
import { formatDuration } from '../base/format.ts'
import type { ChatCommand, ChatCommands, ChatPartner } from '../channels/terminal/chat-partner.ts'
import { completeCommandReplySchema, type RunCommandRequest, runCommandReplySchema } from '../protocol/command-api.ts'
import type { ChatLine } from './chat/chat-line.ts'
import { isGone } from './connect.ts'
import { cliChannel } from './find-session.ts'

/** What every chat at a terminal or in a pipe can do. */
export interface ChatSession {
  partner: ChatPartner
  commands: ChatCommands
  /** What the terminal tells of itself. */
  ownCommands: Record<string, ChatCommand>
}

export function openChatSession(line: ChatLine): ChatSession {
  const { client, found } = line

  const partner: ChatPartner = {
    async *say(text) {
      const session = line.session()
      const message = { message: text, session, channel: cliChannel, source: cliChannel, key: randomUUID() }
      try {
        yield* client().chatEvents(message)
      } catch (error) {
        if (!line.connection().daemon || !isGone(error)) throw error
        // The same key: if the message arrived before the line broke, its turn goes on and no second one begins.
        await line.reconnect()
        yield* client().chatEvents(message)
      }
    },
    async stop() {
      const session = await found()
      return session ? (await client().stop(session.id)).stopped : false
    },
  }

  const commands: ChatCommands = {
    async run(text, confirm) {
      const session = await found()
      const body: RunCommandRequest = { line: text, confirm, session: session?.id }
      const reply = await client().transport.ask('/commands', runCommandReplySchema, { body })
      if (reply.goes_on_in !== null) line.moveTo(reply.goes_on_in)
      return { ok: reply.ok, text: reply.text, confirm: reply.question?.confirm }
    },
    async complete(text) {
      const session = await found()
      const query = new URLSearchParams({ line: text, ...(session && { session: session.id }) })
      return client().transport.ask(`/commands/complete?${query}`, completeCommandReplySchema)
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
  return { partner, commands, ownCommands }
}
