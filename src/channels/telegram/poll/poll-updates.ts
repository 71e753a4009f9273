import { z } from 'zod'
import { type Clock, sleep } from '../../../base/clock.ts'
import type { Logger } from '../../../base/logger.ts'
import type { Database } from '../../../storage/database.ts'
import type { TelegramAnswer, TelegramApi } from '../api/telegram-api.ts'
import { readUpdate } from '../incoming/read-update.ts'
import type { TelegramUpdate } from '../incoming/telegram-update.ts'
import type { TelegramMarks } from '../telegram-marks.ts'
import type { Handling } from '../telegram-services.ts'
import type { OnTelegramStep } from '../telegram-step.ts'
import { createBatchPlace } from './batch-place.ts'
import type { TelegramState } from './telegram-state.ts'

const pollSeconds = 50
const kinds = ['message', 'edited_message', 'callback_query', 'my_chat_member']
const firstPauseMs = 1_000
const longestPauseMs = 60_000
const triesOfOne = 5
/** After a week of silence Telegram begins with new numbers; what was not fetched it keeps for a day. */
const staleMs = 3 * 24 * 60 * 60_000

const batchSchema = z.array(z.json())

interface Polling {
  api: TelegramApi
  database: Database
  marks: TelegramMarks
  handle(update: TelegramUpdate, handling: Handling): Promise<void>
  /** It failed again and again: it is passed over, and whoever sent it is told. */
  giveUp(update: TelegramUpdate, handling: Handling): Promise<void>
  state: TelegramState
  clock: Clock
  logger: Logger
  onStep: OnTelegramStep
  signal: AbortSignal
}

/**
 * Fetches updates until the signal aborts (by throwing its reason) or Telegram refuses the token (by returning). What is
 * fetched is dealt with before the next is asked for, because asking for the next is what makes Telegram forget it.
 */
export async function pollUpdates(polling: Polling): Promise<void> {
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
      // A server that does not know our numbers gives the same again and again.
      if (end === place?.value) await sleep(clock, firstPauseMs, signal)
      continue
    }
    failures += 1
    const { problem, isFinal, isConflict } = describe(read)
    // Told once for a row of them: a night without a network is one line.
    if (state.problem !== problem) logger[isFinal ? 'error' : 'warn']('Telegram cannot be read', { reason: problem })
    Object.assign(state, { state: isFinal ? 'refused' : isConflict ? 'conflict' : 'waiting', problem })
    if (isFinal) return
    await sleep(clock, pauseAfter(read, failures), signal)
  }
}

/** What has no number cannot be passed over: where there is nothing else, it is no answer at all. */
function readBatch(answer: TelegramAnswer<readonly unknown[]>): TelegramAnswer<TelegramUpdate[]> {
  if (answer.kind !== 'ok') return answer
  const result = answer.result.map(readUpdate).filter((update) => update !== undefined)
  if (result.length > 0 || answer.result.length === 0) return { kind: 'ok', result }
  return { kind: 'unknown', reason: 'updates without a number came' }
}

/** Each chat in its order, the chats side by side. Returns the place behind them, also where that lies before ours. */
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
      logger.error('an update of Telegram could not be dealt with', { update: update.updateId, attempt, error })
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

/** Without the token's number, or with one that is not taken any more, the Bot API knows no such address. */
export function isTokenRefused(answer: Failure): boolean {
  return answer.kind === 'refused' && (answer.code === 401 || answer.code === 404)
}

function describe(answer: Failure): { problem: string; isFinal: boolean; isConflict: boolean } {
  const isConflict = answer.kind === 'refused' && answer.code === 409
  const isFinal = isTokenRefused(answer)
  if (isFinal) return { problem: 'Telegram does not take the token of the bot', isFinal, isConflict }
  if (isConflict) return { problem: 'another program fetches the updates of this bot', isFinal, isConflict }
  const problem = answer.kind === 'refused' ? answer.description || `HTTP ${answer.code}` : answer.reason
  return { problem, isFinal, isConflict }
}

export function pauseAfter(answer: Failure, failures: number): number {
  if (answer.kind === 'refused' && answer.retryAfterSeconds !== null) return answer.retryAfterSeconds * 1_000
  return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 10))
}
