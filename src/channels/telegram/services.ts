import { z } from 'zod'
import type { Commands } from '../../agent/commands/create-commands.ts'
import type { Conversations } from '../../agent/conversations.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import type { Builds } from '../../custom-tools/builder/create-builds.ts'
import type { Transcriber } from '../../models/speech/transcriber.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Json } from '../../protocol/messages.ts'
import type { AllowedHost } from '../../security/network/destinations.ts'
import type { Users } from '../../security/users.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { setMark } from '../outbox.ts'
import type { TelegramApi } from './api.ts'
import type { Pairing, TelegramContact, TelegramContacts } from './pairing.ts'
import { telegramChannel } from './sender.ts'
import type { TelegramChannel } from './telegram-channel.ts'

/** Crash points for the tests. */
type TelegramStep =
  | 'updates_received'
  | 'files_fetched'
  | 'message_submitted'
  | 'command_begun'
  | 'command_run'
  | 'command_answered'
  | 'button_answered'
  | 'place_written'

export type OnTelegramStep = (step: TelegramStep) => void

const telegramItself = 'https://api.telegram.org'

/** A self-hosted Bot API server may be on the owner's network; Telegram itself is on the internet. */
export function telegramHosts(apiRoot: string): AllowedHost[] {
  if (apiRoot === telegramItself) return []
  const { hostname, port, protocol } = new URL(apiRoot)
  return [{ host: hostname, port: Number(port) || (protocol === 'http:' ? 80 : 443) }]
}

type Background = ReturnType<typeof createBackground>

/** Work of an update that the next one need not wait for. */
export function createBackground(dependencies: { clock: Clock; logger: Logger; momentMs?: number }) {
  const { clock, logger, momentMs = 5_000 } = dependencies
  const running = new Set<Promise<unknown>>()
  return {
    async awhile(work: Promise<unknown>) {
      const watched = work
        .catch((error: unknown) => logger.error('work for Telegram failed', { error }))
        .finally(() => running.delete(watched))
      running.add(watched)
      const over = new AbortController()
      const moment = sleep(clock, momentMs, over.signal).catch(() => undefined)
      await Promise.race([watched, moment])
      over.abort()
    },
    settled: () => Promise.all(running),
  }
}

const pauseMs = 60 * 60_000
const maxRemembered = 10_000

type Strangers = ReturnType<typeof createStrangers>

/** Strangers that got the private-bot reply, and when: at most once per hour, and nothing about them is stored. */
export function createStrangers(clock: Clock) {
  const toldAt = new Map<number, number>()
  return {
    /** True if this one may get the reply now; it then counts as sent. */
    mayBeTold(id: number): boolean {
      const now = clock.now()
      const before = toldAt.get(id)
      if (before !== undefined && now - before < pauseMs) return false
      // In order of time, so that the oldest are first.
      toldAt.delete(id)
      toldAt.set(id, now)
      for (const [other, at] of toldAt) {
        if (toldAt.size <= maxRemembered && now - at < pauseMs) break
        toldAt.delete(other)
      }
      return true
    },
  }
}

export interface TelegramState {
  /**
   * `conflict`: another program fetches the updates of the same bot. `refused`: Telegram rejects the token, and polling
   * has stopped.
   */
  state: 'off' | 'starting' | 'listening' | 'waiting' | 'conflict' | 'refused'
  bot: { id: number; username: string } | null
  problem: string | null
  lastUpdateAt: number | null
}

export type TelegramDesk = ReturnType<typeof createTelegramDesk>

/** The owner's operations on this machine. They also work while Telegram cannot be reached. */
export function createTelegramDesk(dependencies: {
  /** Undefined if Telegram is not set up. */
  channel: () => Pick<TelegramChannel, 'status'> | undefined
  contacts: TelegramContacts
  pairing: Pick<Pairing, 'makeCode'>
  users: Pick<Users, 'list' | 'named'>
}) {
  const { channel, contacts, pairing, users } = dependencies
  const off: TelegramState = { state: 'off', bot: null, problem: null, lastUpdateAt: null }
  const status = () => channel()?.status() ?? { ...off, problem: 'it is not set up' }

  return {
    status,
    async contacts(): Promise<(TelegramContact & { user: string })[]> {
      const names = new Map(users.list().map(({ id, name }) => [id, name]))
      return (await contacts.list()).map((contact) => ({ ...contact, user: names.get(contact.userId) ?? '' }))
    },
    /** For the owner unless another user is named. Throws `conflict` if Telegram is not set up. */
    async makeCode(userName?: string) {
      if (!channel()) {
        const text = 'Telegram is not set up: it needs a [telegram] section in familiar.toml and a bot token'
        throw new FamiliarError('conflict', text)
      }
      const user = userName === undefined ? users.list().find(({ role }) => role === 'owner') : users.named(userName)
      if (!user) throw new FamiliarError('not_found', 'This home has no owner')
      const { code, expiresAt } = await pairing.makeCode(user.id)
      const bot = status().bot?.username
      // Opens the chat and sends the code; null while the bot's name is unknown.
      const link = bot ? `https://t.me/${bot}?start=${code}` : null
      return { code, link, expiresAt, user }
    },
    /** Throws `not_found`, or `conflict` for a contact from the config. */
    async unpair(id: number) {
      if (await contacts.remove(id)) return
      if (await contacts.find(id)) {
        throw new FamiliarError('conflict', `${id} is listed in the config: remove it from allowed_ids in [telegram]`)
      }
      throw new FamiliarError('not_found', `No contact with the Telegram id ${id} is paired`)
    },
  }
}

/** Telegram keeps unfetched updates for a day: older ones cannot arrive again. */
const keptMs = 3 * 24 * 60 * 60_000
const passing = ['command:', 'confirm:', 'answer:']

type TelegramMarks = ReturnType<typeof createTelegramMarks>

/** The channel's stored state: its offset, and operations that must not run twice. */
export function createTelegramMarks({ database, clock }: { database: Database; clock: Clock }) {
  async function find<T>(reader: Reader | Writer, name: string, schema: z.ZodType<T>) {
    const row = await reader
      .selectFrom('channel_marks')
      .select(['value', 'updated_at'])
      .where('channel', '=', telegramChannel)
      .where('name', '=', name)
      .executeTakeFirst()
    const read = row && parseJson(row.value, schema)
    return read?.ok ? { value: read.value, at: Number(row?.updated_at) } : undefined
  }

  const set = (writer: Writer, name: string, value: Json) =>
    setMark(writer, { channel: telegramChannel, name, value: JSON.stringify(value), now: clock.now() })

  return {
    /** The number of the next update; `at` is when it was written. */
    offset: () => find(database.read, 'offset', z.int()),
    setOffset: (writer: Writer, value: number) => set(writer, 'offset', value),
    get: async <T>(reader: Reader | Writer, name: string, schema: z.ZodType<T>) =>
      (await find(reader, name, schema))?.value,
    set,
    /** True if it existed: of two concurrent calls one gets it. */
    async take(writer: Writer, name: string): Promise<boolean> {
      const { numDeletedRows } = await writer
        .deleteFrom('channel_marks')
        .where('channel', '=', telegramChannel)
        .where('name', '=', name)
        .executeTakeFirst()
      return Number(numDeletedRows) === 1
    },
    async purge() {
      await database.write(async (writer) => {
        for (const prefix of passing) {
          await writer
            .deleteFrom('channel_marks')
            .where('channel', '=', telegramChannel)
            .where('name', 'like', `${prefix}%`)
            .where('updated_at', '<', clock.now() - keptMs)
            .execute()
        }
      })
    },
  }
}

/** A short plain-text message to a chat. */
export interface Note {
  userId: string
  chatId: number
  /** Sent once per key. */
  key: string
  text: string
  buttons?: readonly { text: string; data: string }[]
}

export interface TelegramServices {
  api: TelegramApi
  bot: { id: number; username: string }
  database: Database
  conversations: Pick<Conversations, 'submit' | 'sessions' | 'openChoices' | 'answerApproval'>
  commands: Pick<Commands, 'run' | 'list'>
  builds: Pick<Builds, 'answer' | 'questions'>
  media: Pick<MediaStore, 'put'>
  transcriber: Pick<Transcriber, 'status' | 'transcribe'>
  users: Pick<Users, 'list'>
  contacts: TelegramContacts
  pairing: Pick<Pairing, 'tryCode'>
  strangers: Strangers
  marks: TelegramMarks
  /** Queues a note, in the caller's unit. */
  tell(writer: Writer, note: Note): Promise<void>
  /** Called after notes were committed. */
  wakeOutbox(): void
  background: Background
  clock: Clock
  logger: Logger
  onStep: OnTelegramStep
}

/**
 * One update being processed. `move` writes the new offset: every effect of the update is committed together with it.
 */
export interface Handling {
  move(writer: Writer): Promise<void>
  signal: AbortSignal
}
