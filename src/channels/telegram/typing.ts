import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import type { Monitor } from '../../monitor/monitor.ts'
import type { SessionLog } from '../../sessions/session-log.ts'
import type { Database } from '../../storage/database.ts'
import type { TelegramApi } from './api/telegram-api.ts'
import { telegramChannel } from './out/telegram-payload.ts'

/** Telegram shows it for five seconds. */
const everyMs = 4_000
const momentMs = 300
const mostRemembered = 5_000

/**
 * Shows "typing" in a chat while a turn of its conversation runs. Woken by the log; what runs is asked of the monitor. Where
 * it fails nothing is tried again: the next one comes in four seconds.
 */
export function startTyping(dependencies: {
  api: TelegramApi
  database: Database
  log: Pick<SessionLog, 'onAnyChange'>
  monitor: Pick<Monitor, 'current'>
  clock: Clock
  signal: AbortSignal
}): void {
  const { api, database, log, monitor, clock, signal } = dependencies
  /** Null: a session of another channel. */
  const chats = new Map<string, number | null>()
  const soon = new Set<string>()
  const shown = new Map<string, () => void>()

  const runs = (sessionId: string) => monitor.current().turns.some((turn) => turn.sessionId === sessionId)

  async function chatOf(sessionId: string): Promise<number | null> {
    const known = chats.get(sessionId)
    if (known !== undefined) return known
    const row = await database.read
      .selectFrom('sessions')
      .select(['channel', 'contact'])
      .where('id', '=', sessionId)
      .executeTakeFirst()
    const chatId = row?.channel === telegramChannel ? Number(row.contact) : null
    if (chats.size >= mostRemembered) chats.clear()
    chats.set(sessionId, chatId)
    return chatId
  }

  function show(sessionId: string, chatId: number): void {
    if (signal.aborted || !runs(sessionId)) {
      shown.delete(sessionId)
      return
    }
    const typing = { chat_id: chatId, action: 'typing' }
    api.call('sendChatAction', typing, { result: z.unknown(), signal, timeoutMs: everyMs }).catch(() => undefined)
    shown.set(
      sessionId,
      clock.after(everyMs, () => show(sessionId, chatId)),
    )
  }

  async function look(sessionId: string): Promise<void> {
    if (signal.aborted || shown.has(sessionId) || !runs(sessionId)) return
    const chatId = await chatOf(sessionId)
    if (chatId !== null && !shown.has(sessionId)) show(sessionId, chatId)
  }

  // The monitor hears of a turn a moment after the log does.
  const stop = log.onAnyChange((sessionId) => {
    if (shown.has(sessionId) || soon.has(sessionId) || chats.get(sessionId) === null) return
    soon.add(sessionId)
    clock.after(momentMs, () => {
      soon.delete(sessionId)
      void look(sessionId).catch(() => undefined)
    })
  })
  signal.addEventListener('abort', () => {
    stop()
    for (const cancel of shown.values()) cancel()
    shown.clear()
  })
}
