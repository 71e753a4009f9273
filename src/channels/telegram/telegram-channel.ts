import { z } from 'zod'
import type { SessionLog } from '../../agent/sessions/session-log.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import { sha256 } from '../../base/ids.ts'
import type { Monitor } from '../../base/telemetry/monitor.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { Outbox } from '../create-outbox.ts'
import type { OutgoingItem } from '../outbox.ts'
import type { TelegramAnswer, TelegramApi } from './api.ts'
import { handleUpdate } from './handle-update.ts'
import { tellInterrupted } from './run-command.ts'
import { telegramChannel, toOutgoing } from './sender.ts'
import {
  createBackground,
  createStrangers,
  createTelegramMarks,
  type Handling,
  type Note,
  type OnTelegramStep,
  type TelegramServices,
  type TelegramState,
} from './services.ts'
import { plainPayloads } from './text-payloads.ts'
import { buttonPressSchema, membershipSchema, type TelegramUpdate, telegramMessageSchema } from './updates.ts'

const botSchema = z.object({ id: z.int(), username: z.string().default('') })
const restartMs = 5_000

export type TelegramChannel = ReturnType<typeof createTelegramChannel>

/** Telegram as an input channel (CHAN-1). Sending is done by the deliveries and the outbox. */
export function createTelegramChannel(
  dependencies: Omit<
    TelegramServices,
    'bot' | 'marks' | 'strangers' | 'tell' | 'wakeOutbox' | 'background' | 'onStep'
  > & {
    outbox: Pick<Outbox, 'putIn' | 'wake'>
    log: Pick<SessionLog, 'onAnyChange'>
    monitor: Pick<Monitor, 'current'>
    onStep?: OnTelegramStep
  },
) {
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

  /** Undefined if Telegram rejects the token. */
  async function learnBot(): Promise<TelegramServices['bot'] | undefined> {
    for (let failures = 1; ; failures += 1) {
      const answer = await api.call('getMe', {}, { result: botSchema, signal })
      if (answer.kind === 'ok') return answer.result
      const { problem, isFinal } = describe(answer)
      if (isFinal) {
        Object.assign(state, { state: 'refused', problem })
        logger.error('Telegram is off', { reason: problem })
        return undefined
      }
      if (state.problem === null) logger.warn('Telegram cannot be reached', { reason: problem })
      Object.assign(state, { state: 'waiting', problem })
      await sleep(clock, pauseAfter(answer, failures), signal)
    }
  }

  /** Once, even if polling restarts: operations of this run were not interrupted. */
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

  /** A full disk or an internal error ends a run; the offset was not moved, so the next run repeats it. */
  async function runOn(): Promise<void> {
    while (!signal.aborted) {
      try {
        return await run()
      } catch (error) {
        if (signal.aborted) return
        logger.error('polling Telegram failed and will restart', { error })
        Object.assign(state, { state: 'waiting', problem: 'an internal error; see the log' })
        await sleep(clock, restartMs, signal).catch(() => undefined)
      }
    }
  }

  return {
    /** Starts polling; returns at once, whether or not Telegram can be reached. */
    start() {
      running ??= runOn()
    },
    status: (): TelegramState => ({ ...state }),
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
      const text = 'I could not process your last message: something went wrong inside Familiar. Please send it again.'
      await services.tell(writer, { userId: contact.userId, chatId: message.chat.id, key, text })
    }
    await move(writer)
  })
  services.wakeOutbox()
}

const maxCommands = 100
const takenName = /^[a-z0-9_]{1,32}$/

/** Sets the command menu in Telegram; only sent if it changed. */
async function showCommandMenu(
  services: Pick<TelegramServices, 'api' | 'bot' | 'commands' | 'marks' | 'database' | 'logger'>,
  signal: AbortSignal,
): Promise<void> {
  const { api, bot, commands, marks, database, logger } = services
  const known = commands.list().map(({ name, summary }) => ({ command: name, description: summary.slice(0, 256) }))
  const own = { command: 'new', description: 'start a new conversation; the old one is kept' }
  const menu = [own, ...known].filter(({ command }) => takenName.test(command)).slice(0, maxCommands)
  const told = `${bot.id}:${sha256(JSON.stringify(menu))}`
  if ((await marks.get(database.read, 'menu', z.string())) === told) return
  const answer = await api.call('setMyCommands', { commands: menu }, { result: z.unknown(), signal })
  if (answer.kind === 'ok') await database.write((writer) => marks.set(writer, 'menu', told))
  else logger.warn('could not set the command menu on Telegram', { answer: answer.kind })
}

/** A note as outbox items: in pieces if it is long. */
function noteItems({ userId, chatId, key, text, buttons }: Note): OutgoingItem[] {
  return plainPayloads(text, buttons).map((payload, at) =>
    toOutgoing({ userId, chatId: String(chatId), key: `note:${key}:${at}`, payload, sessionId: null }),
  )
}

const updateSchema = z.object({
  update_id: z.int(),
  message: z.unknown().optional(),
  edited_message: z.unknown().optional(),
  callback_query: z.unknown().optional(),
  my_chat_member: z.unknown().optional(),
})

/**
 * Parses one element of `getUpdates`. Undefined only without a number: everything else has one, so that an unreadable
 * update is skipped and does not come back.
 */
export function readUpdate(raw: unknown): TelegramUpdate | undefined {
  const update = updateSchema.safeParse(raw)
  if (!update.success) return undefined
  const { update_id: updateId, message, edited_message, callback_query, my_chat_member } = update.data
  if (message !== undefined || edited_message !== undefined) {
    const read = telegramMessageSchema.safeParse(message ?? edited_message)
    if (read.success) return { updateId, kind: 'message', message: read.data, isEdit: message === undefined }
  }
  if (callback_query !== undefined) {
    const read = buttonPressSchema.safeParse(callback_query)
    if (read.success) return { updateId, kind: 'button', press: read.data }
  }
  if (my_chat_member !== undefined) {
    const read = membershipSchema.safeParse(my_chat_member)
    if (read.success) {
      return { updateId, kind: 'membership', chat: read.data.chat, status: read.data.new_chat_member.status }
    }
  }
  return { updateId, kind: 'other' }
}

/**
 * The progress within a batch of updates, while its chats are processed concurrently. The offset may only move past
 * committed updates; the numbers of a batch need not be in order.
 */
export function createBatchPlace(updateIds: readonly number[]) {
  const open = new Set(updateIds)
  const inOrder = [...open].sort((one, other) => one - other)
  const end = (inOrder.at(-1) ?? -1) + 1
  return {
    /** The offset if this update is committed too: after all that are done without a gap. */
    placeWith: (updateId: number): number => inOrder.find((id) => id !== updateId && open.has(id)) ?? end,
    settle: (updateId: number) => void open.delete(updateId),
    end,
  }
}

const pollSeconds = 50
const kinds = ['message', 'edited_message', 'callback_query', 'my_chat_member'] as const
const firstPauseMs = 1_000
const maxPauseMs = 60_000
const triesOfOne = 5
/** After a week of silence Telegram starts new numbers; it keeps unfetched updates for a day. */
const staleMs = 3 * 24 * 60 * 60_000

const batchSchema = z.array(z.json())

interface Polling extends Pick<TelegramServices, 'api' | 'database' | 'marks' | 'clock' | 'logger' | 'onStep'> {
  handle(update: TelegramUpdate, handling: Handling): Promise<void>
  /** It failed repeatedly: it is skipped, and its sender gets a message. */
  giveUp(update: TelegramUpdate, handling: Handling): Promise<void>
  state: TelegramState
  signal: AbortSignal
}

/**
 * Polls until the signal aborts (throws its reason) or Telegram rejects the token (returns). A batch is processed
 * before the next is requested, because that request makes Telegram delete it.
 */
async function pollUpdates(polling: Polling): Promise<void> {
  const { api, marks, state, clock, logger, onStep, signal } = polling
  let failures = 0
  for (;;) {
    const place = await marks.offset()
    const isStale = place !== undefined && clock.now() - place.at > staleMs
    const answer = await api.call(
      'getUpdates',
      { timeout: pollSeconds, allowed_updates: kinds, ...(place && !isStale && { offset: place.value }) },
      { result: batchSchema, signal, timeoutMs: (pollSeconds + 15) * 1_000 },
    )
    const read = readBatch(answer)
    if (read.kind === 'ok') {
      failures = 0
      Object.assign(state, { state: 'listening', problem: null })
      if (read.result.length === 0) continue
      onStep('updates_received')
      state.lastUpdateAt = clock.now()
      const end = await dealWith(polling, read.result)
      // A server that ignores our offset returns the same updates again.
      if (end === place?.value) await sleep(clock, firstPauseMs, signal)
      continue
    }
    failures += 1
    const { problem, isFinal, isConflict } = describe(read)
    // Logged once per outage: a night without a network is one line.
    if (state.problem !== problem)
      logger[isFinal ? 'error' : 'warn']('cannot read updates from Telegram', { reason: problem })
    Object.assign(state, { state: isFinal ? 'refused' : isConflict ? 'conflict' : 'waiting', problem })
    if (isFinal) return
    await sleep(clock, pauseAfter(read, failures), signal)
  }
}

/** An update without a number cannot be skipped: a batch of only such updates is an error. */
function readBatch(answer: TelegramAnswer<readonly unknown[]>): TelegramAnswer<TelegramUpdate[]> {
  if (answer.kind !== 'ok') return answer
  const result = answer.result.map(readUpdate).filter((update) => update !== undefined)
  if (result.length > 0 || answer.result.length === 0) return { kind: 'ok', result }
  return { kind: 'unknown', reason: 'updates without a number arrived' }
}

/** Each chat in order, the chats concurrently. Returns the next offset, even if it is lower than ours. */
async function dealWith(polling: Polling, updates: readonly TelegramUpdate[]): Promise<number> {
  const { database, marks, onStep } = polling
  const place = createBatchPlace(updates.map(({ updateId }) => updateId))
  let written: number | undefined

  async function deal(update: TelegramUpdate): Promise<void> {
    const { updateId } = update
    await handlePatiently(polling, update, {
      signal: polling.signal,
      async move(writer) {
        written = place.placeWith(updateId)
        await marks.setOffset(writer, written)
      },
    })
    place.settle(updateId)
  }

  const chats = Map.groupBy(updates, chatOf)
  const ended = await Promise.allSettled(
    [...chats.values()].map(async (ofChat) => {
      for (const update of ofChat) await deal(update)
    }),
  )
  for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason
  if (written !== place.end) await database.write((writer) => marks.setOffset(writer, place.end))
  onStep('place_written')
  return place.end
}

async function handlePatiently(polling: Polling, update: TelegramUpdate, handling: Handling): Promise<void> {
  const { clock, logger, signal } = polling
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await polling.handle(update, handling)
    } catch (error) {
      signal.throwIfAborted()
      logger.error('could not process an update from Telegram', { update: update.updateId, attempt, error })
      if (attempt === triesOfOne) return await polling.giveUp(update, handling)
      await sleep(clock, firstPauseMs * 2 ** (attempt - 1), signal)
    }
  }
}

function chatOf(update: TelegramUpdate): number {
  switch (update.kind) {
    case 'message':
      return update.message.chat.id
    case 'button':
      return update.press.from.id
    case 'membership':
      return update.chat.id
    case 'other':
      return 0
  }
}

type Failure = Exclude<TelegramAnswer<unknown>, { kind: 'ok' }>

function describe(answer: Failure): { problem: string; isFinal: boolean; isConflict: boolean } {
  const code = answer.kind === 'refused' ? answer.code : undefined
  const isConflict = code === 409
  // For a malformed or revoked token the Bot API answers that the address does not exist.
  const isFinal = code === 401 || code === 404
  if (isFinal) return { problem: 'Telegram rejects the bot token', isFinal, isConflict }
  if (isConflict) return { problem: 'another program is reading the updates of this bot', isFinal, isConflict }
  const problem = answer.kind === 'refused' ? answer.description || `HTTP ${answer.code}` : answer.reason
  return { problem, isFinal, isConflict }
}

function pauseAfter(answer: Failure, failures: number): number {
  if (answer.kind === 'refused' && answer.retryAfterSeconds !== null) return answer.retryAfterSeconds * 1_000
  return Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 10))
}

/** Telegram shows it for five seconds. */
const everyMs = 4_000
const momentMs = 300
const maxRemembered = 5_000

/**
 * Shows "typing" in a chat while a turn of its conversation runs. Triggered by the log; the monitor knows which turns
 * run. A failure is not retried: the next one comes in four seconds.
 */
function startTyping(dependencies: {
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
    if (chats.size >= maxRemembered) chats.clear()
    chats.set(sessionId, chatId)
    return chatId
  }

  function show(sessionId: string, chatId: number): void {
    if (signal.aborted || !runs(sessionId)) {
      shown.delete(sessionId)
      return
    }
    const typing = { chat_id: chatId, action: 'typing' } as const
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

  // The monitor learns of a turn a moment after the log.
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
