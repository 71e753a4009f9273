import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { formatDuration } from '../../base/text.ts'
import { readLiveRecord } from '../../daemon/daemon-lock.ts'
import { type SessionReply, sessions } from '../../protocol/api.ts'
import { commands as commandApi } from '../../protocol/commands.ts'
import type { StreamedEvent } from '../../protocol/events.ts'
import { home } from '../../protocol/status.ts'
import { type CommandContext, CommandError } from '../command.ts'
import { type Connection, cliChannel, connect, findSession, isGone } from '../connect.ts'

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

export type ChatSession = ReturnType<typeof openChatSession>

/** The operations of every chat, in a terminal or a pipe. */
export function openChatSession(line: ChatLine) {
  const { client, found } = line

  const partner = {
    /** Sends it and yields the events of its turn. Leaving the loop does not stop the turn. */
    async *say(text: string): AsyncGenerator<StreamedEvent> {
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
    /** False if no turn was running. */
    async stop(): Promise<boolean> {
      const session = await found()
      return session ? (await client().api(sessions).stop({ id: session.id })).stopped : false
    },
  }

  /** For lines that start with a slash. */
  const commands = {
    /** A reply with `confirm` is a question: nothing was done, and it comes back with the user's yes. */
    async run(text: string, confirm?: string): Promise<{ ok: boolean; text: string; confirm?: string | undefined }> {
      const session = await found()
      const reply = await client().api(commandApi).run({ line: text, confirm, session: session?.id })
      if (reply.goes_on_in !== null) line.moveTo(reply.goes_on_in)
      return { ok: reply.ok, text: reply.text, confirm: reply.question?.confirm }
    },
    /** Completions from `start` on. */
    async complete(text: string) {
      const session = await found()
      return client().api(commandApi).complete({ line: text, session: session?.id })
    },
  }

  /** Commands of the terminal itself; their lines are shown unchanged. */
  const ownCommands: Record<string, { help: string; run(): Promise<string[]> }> = {
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
