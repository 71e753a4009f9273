import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { sleep } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Monitor } from '../../monitor/monitor.ts'
import type { SessionLog } from '../../sessions/session-log.ts'
import type { Writer } from '../../storage/database.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { tellInterrupted } from './answers/run-command.ts'
import { createBackground } from './background.ts'
import { showCommandMenu } from './command-menu.ts'
import { handleUpdate } from './incoming/handle-update.ts'
import type { TelegramUpdate } from './incoming/telegram-update.ts'
import { noteItems } from './note-items.ts'
import { createStrangers } from './pairing/strangers.ts'
import { isTokenRefused, pauseAfter, pollUpdates } from './poll/poll-updates.ts'
import type { TelegramState } from './poll/telegram-state.ts'
import { createTelegramMarks } from './telegram-marks.ts'
import type { Handling, TelegramServices } from './telegram-services.ts'
import type { OnTelegramStep } from './telegram-step.ts'
import { startTyping } from './typing.ts'

const botSchema = z.object({ id: z.int(), username: z.string().default('') })
const restartMs = 5_000

/** Telegram as a way in (CHAN-1). What goes out is not here: see `out/`, the deliveries and the outbox. */
export interface TelegramChannel {
  /** Begins to fetch; returns at once, whether or not Telegram can be reached. */
  start(): void
  status(): TelegramState
  /** Fetches nothing more, and lets what is under way come to its end. */
  close(): Promise<void>
}

export function createTelegramChannel(
  dependencies: Pick<
    TelegramServices,
    | 'api'
    | 'database'
    | 'conversations'
    | 'commands'
    | 'builds'
    | 'media'
    | 'transcriber'
    | 'users'
    | 'contacts'
    | 'pairing'
  > & {
    outbox: Pick<Outbox, 'putIn' | 'wake'>
    log: Pick<SessionLog, 'onAnyChange'>
    monitor: Pick<Monitor, 'current'>
    clock: Clock
    logger: Logger
    onStep?: OnTelegramStep
  },
): TelegramChannel {
  const { api, database, outbox, clock, logger, onStep = () => {} } = dependencies
  const stop = new AbortController()
  const { signal } = stop
  const state: TelegramState = { state: 'off', bot: null, problem: null, lastUpdateAt: null }
  const background = createBackground({ clock, logger })
  const marks = createTelegramMarks({ database, clock })
  let running: Promise<void> | undefined
  let isPrepared = false

  function servicesOf(bot: TelegramServices['bot']): TelegramServices {
    return {
      ...dependencies,
      bot,
      marks,
      strangers: createStrangers(clock),
      tell: (writer: Writer, note) => outbox.putIn(writer, noteItems(note)),
      wakeOutbox: outbox.wake,
      background,
      onStep,
    }
  }

  /** Undefined where Telegram does not take the token. */
  async function learnBot(): Promise<TelegramServices['bot'] | undefined> {
    for (let failures = 1; ; failures += 1) {
      const answer = await api.call('getMe', {}, { result: botSchema, signal })
      if (answer.kind === 'ok') return answer.result
      if (isTokenRefused(answer)) {
        const problem = 'Telegram does not take the token of the bot'
        Object.assign(state, { state: 'refused', problem })
        logger.error('Telegram is off', { reason: problem })
        return undefined
      }
      const problem = answer.kind === 'refused' ? answer.description : answer.reason
      if (state.problem === null) logger.warn('Telegram cannot be reached', { reason: problem })
      Object.assign(state, { state: 'waiting', problem })
      await sleep(clock, pauseAfter(answer, failures), signal)
    }
  }

  /** Once, however often reading begins anew: what this run has begun is not cut off. */
  async function prepare(services: TelegramServices): Promise<void> {
    if (isPrepared) return
    await marks.purge()
    await tellInterrupted(services)
    startTyping({ ...dependencies, signal })
    isPrepared = true
    await showCommandMenu(services, signal)
  }

  async function run(): Promise<void> {
    state.state = 'starting'
    const bot = await learnBot()
    if (!bot) return
    state.bot = bot
    const services = servicesOf(bot)
    await prepare(services)
    logger.info('Telegram is on', { bot: bot.username })
    Object.assign(state, { state: 'listening', problem: null })
    await pollUpdates({
      ...services,
      handle: (update, handling) => handleUpdate(services, update, handling),
      giveUp: (update, handling) => giveUp(services, update, handling),
      state,
      signal,
    })
  }

  /** A full disk or a fault of ours ends a run; nothing was moved past, so the next one takes it up. */
  async function runOn(): Promise<void> {
    while (!signal.aborted) {
      try {
        return await run()
      } catch (error) {
        if (signal.aborted) return
        logger.error('the reading of Telegram failed and begins anew', { error })
        Object.assign(state, { state: 'waiting', problem: 'a fault inside Familiar; its log tells more' })
        await sleep(clock, restartMs, signal).catch(() => undefined)
      }
    }
  }

  return {
    start() {
      running ??= runOn()
    },
    status: () => ({ ...state }),
    async close() {
      stop.abort(new Error('Familiar is stopping'))
      await running
      await background.settled()
      state.state = 'off'
    },
  }
}

async function giveUp(services: TelegramServices, update: TelegramUpdate, { move }: Handling): Promise<void> {
  const message = update.kind === 'message' ? update.message : undefined
  const contact = message?.chat.type === 'private' ? await services.contacts.find(message.chat.id) : undefined
  await services.database.write(async (writer) => {
    if (message && contact) {
      const key = `telegram:${message.chat.id}:${message.message_id}:lost`
      const text = 'I could not take your last message: something went wrong inside Familiar. Please send it again.'
      await services.tell(writer, { userId: contact.userId, chatId: message.chat.id, key, text })
    }
    await move(writer)
  })
  services.wakeOutbox()
}
