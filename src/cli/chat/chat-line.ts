import { setTimeout as wait } from 'node:timers/promises'
import { readLiveRecord } from '../../daemon/daemon-info.ts'
import type { SessionReply } from '../../protocol/api.ts'
import type { ApiClient } from '../api-client.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { type Connection, connect } from '../connect.ts'
import { findSession } from '../find-session.ts'

/** The connection of a chat, which may break and come back, and the session that it is in, which may change. */
export interface ChatLine {
  client(): ApiClient
  connection(): Connection
  /** As the user named it. */
  session(): string
  moveTo(session: string): void
  /** Undefined where nothing was said in it yet. */
  found(): Promise<SessionReply | undefined>
  /** To the daemon that comes next or, where none comes, to one inside this process. Called by several, done once. */
  reconnect(): Promise<void>
  close(): Promise<void>
}

/** A daemon that is being restarted is back by then. Sooner, one inside this process would stand in its way. */
const patienceMs = 30_000
const pauseMs = 100

export function openChatLine(context: CommandContext, options: { session: string; connection: Connection }): ChatLine {
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
    session: () => session,
    moveTo(next) {
      session = next
    },
    async found() {
      try {
        return await findSession(connection.client, session)
      } catch (error) {
        if (error instanceof CommandError && error.code === 'not_found') return undefined
        throw error
      }
    },
    reconnect() {
      reconnecting ??= begin().finally(() => {
        reconnecting = undefined
      })
      return reconnecting
    },
    close: () => connection.close(),
  }
}
