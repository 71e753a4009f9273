import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { formatDuration } from '../../base/text.ts'
import { readLiveRecord } from '../../daemon/daemon-lock.ts'
import { type SessionReply, sessions } from '../../protocol/api.ts'
import { commands as commandApi } from '../../protocol/commands.ts'
import { home } from '../../protocol/status.ts'
import { type CommandContext, CommandError } from '../command.ts'
import { type Connection, cliChannel, connect, findSession, isGone } from '../connect.ts'
import type { ChatCommand, ChatCommands, ChatPartner } from './chat-partner.ts'

export type ChatLine = ReturnType<typeof openChatLine>

/** A restarting daemon is back by then. Before that, one inside this process would take its place. */
const patienceMs = 30_000
const pauseMs = 100

/** The connection of a chat, which may break and come back, and its session, which may change. */
export function openChatLine(context: CommandContext, options: { session: string; connection: Connection }) {
  let { session, connection } = options
  let reconnecting: Promise<void> | undefined

  async function begin(): Promise<void> {
    await connection.close()
    const deadline = performance.now() + patienceMs
    while (!readLiveRecord(context.homePath) && performance.now() < deadline) {
      await wait(pauseMs, undefined, { signal: context.signal })
    }
    connection = await connect(context, { talks: true })
  }

  return {
    client: () => connection.client,
    connection: () => connection,
    /** As the user named it. */
    session: () => session,
    moveTo(next: string): void {
      session = next
    },
    /** Undefined if it has no messages yet. */
    async found(): Promise<SessionReply | undefined> {
      try {
        return await findSession(connection.client, session)
      } catch (error) {
        if (error instanceof CommandError && error.code === 'not_found') return undefined
        throw error
      }
    },
    /** Reconnects to the next daemon or, without one, starts one inside this process. Shared by all callers. */
    reconnect(): Promise<void> {
      reconnecting ??= begin().finally(() => {
        reconnecting = undefined
      })
      return reconnecting
    },
    close: () => connection.close(),
  }
}

/** The place where the Familiar of a chat runs. */
export function whereOf(line: Pick<ChatLine, 'connection'>): string {
  const { daemon } = line.connection()
  return daemon ? `daemon at ${daemon.url}` : 'running only for this chat; "familiar serve" keeps it running'
}

/** The operations of every chat, in a terminal or a pipe. */
export function openChatSession(line: ChatLine) {
  const { client, found } = line

  const partner: ChatPartner = {
    async *say(text) {
      const session = line.session()
      const message = { message: text, session, channel: cliChannel, source: cliChannel, key: randomUUID() }
      try {
        yield* client().chatEvents(message)
      } catch (error) {
        if (!line.connection().daemon || !isGone(error)) throw error
        // The same key: if the message arrived before the connection was lost, no second turn starts.
        await line.reconnect()
        yield* client().chatEvents(message)
      }
    },
    async stop() {
      const session = await found()
      return session ? (await client().api(sessions).stop({ id: session.id })).stopped : false
    },
  }

  const commands: ChatCommands = {
    async run(text, confirm) {
      const session = await found()
      const reply = await client().api(commandApi).run({ line: text, confirm, session: session?.id })
      if (reply.goes_on_in !== null) line.moveTo(reply.goes_on_in)
      return { ok: reply.ok, text: reply.text, confirm: reply.question?.confirm }
    },
    async complete(text) {
      const session = await found()
      return client().api(commandApi).complete({ line: text, session: session?.id })
    },
  }

  const ownCommands: Record<string, ChatCommand> = {
    status: {
      help: 'what runs and which model answers',
      async run() {
        const { version, uptime_seconds, stats } = await client().api(home).status()
        const load = stats ? `, ${stats.turns_running} running, ${stats.messages_waiting} waiting` : ''
        return [`Familiar ${version}, up ${formatDuration(uptime_seconds * 1_000)}, ${stats?.model ?? ''}${load}`]
      },
    },
  }
  return { partner, commands, ownCommands }
}
