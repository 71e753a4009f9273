import { type Clock, sleep } from '../base/clock.ts'
import {
  type LanguageModel,
  ModelError,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamEvent,
} from './model.ts'

/** The partial response is void: consumers drop its deltas. `model` is the one that is tried next. */
interface RetryEvent {
  type: 'retry'
  attempt: number
  reason: string
  waitMs: number
  model: string
}

export type RetriedStreamEvent =
  | Exclude<ModelStreamEvent, { type: 'finished' }>
  /** With the model that answered, whose rates the ledger needs. */
  | { type: 'finished'; response: ModelResponse; model: LanguageModel }
  | RetryEvent

export interface RetryOptions {
  /** The model to use, then its fallbacks in order. */
  models: readonly LanguageModel[]
  request: ModelRequest
  signal: AbortSignal
  clock: Clock
  /** From 0 to 1. */
  random?: () => number
  onRetry?: (event: RetryEvent) => void
  attemptsPerModel?: number
  baseDelayMs?: number
  maxDelayMs?: number
  /** A provider that requests a longer wait is skipped for the next model. */
  maxRetryAfterMs?: number
  /** A call is aborted after this long without a byte. */
  idleTimeoutMs?: number
}

/** The provider rejects the key or the model: the same request may succeed at the next provider. */
const refusedHere = new Set([401, 402, 403, 404])

/**
 * Calls the first model with retries while they can help, then its fallbacks (LOOP-7). A rejection is never retried;
 * one that is caused by the request itself (400, 422) ends everything. Throws the last ModelError.
 */
export async function* streamWithRetries(options: RetryOptions): AsyncGenerator<RetriedStreamEvent> {
  const { models, signal, clock, onRetry } = options
  const { attemptsPerModel = 4, maxRetryAfterMs = 120_000 } = options
  let last: ModelError | undefined
  for (const [index, model] of models.entries()) {
    for (let attempt = 1; attempt <= attemptsPerModel; attempt += 1) {
      try {
        return yield* streamOnce(model, options)
      } catch (error) {
        if (!(error instanceof ModelError) || error.code === 'aborted') throw error
        last = error
      }
      const tooLong = (last.retryAfterMs ?? 0) > maxRetryAfterMs
      const again = last.retryable && attempt < attemptsPerModel && !tooLong
      const next = again ? model : models[index + 1]
      if (!next || (!last.retryable && !refusedHere.has(last.status ?? 0))) throw last
      const waitMs = again ? delayBefore(attempt, last, options) : 0
      const event: RetryEvent = {
        type: 'retry',
        attempt: again ? attempt + 1 : 1,
        reason: last.message,
        waitMs,
        model: next.info.id,
      }
      onRetry?.(event)
      yield event
      if (waitMs > 0) await waitUnlessStopped(clock, waitMs, signal)
      if (!again) break
    }
  }
  throw last ?? new ModelError('rejected', 'No model is configured for this', { retryable: false })
}

async function* streamOnce(model: LanguageModel, options: RetryOptions): AsyncGenerator<RetriedStreamEvent, void> {
  const { request, signal, clock, idleTimeoutMs = 120_000 } = options
  const idle = watchIdle({ clock, signal, idleTimeoutMs })
  const onActivity = () => {
    idle.onActivity()
    request.onActivity?.()
  }
  try {
    for await (const event of model.stream({ ...request, onActivity }, idle.signal)) {
      idle.onActivity()
      yield event.type === 'finished' ? { ...event, model } : event
    }
  } catch (error) {
    if (!idle.expired()) throw error
    const seconds = Math.round(idleTimeoutMs / 1000)
    throw new ModelError('timeout', `${model.info.id}: no data for ${seconds} s`, { retryable: true })
  } finally {
    idle.stop()
  }
}

/** Full jitter: anything up to the doubled limit, so that many clients of one provider do not retry together. */
function delayBefore(attempt: number, { retryAfterMs }: ModelError, options: RetryOptions): number {
  const { random = Math.random, baseDelayMs = 500, maxDelayMs = 30_000 } = options
  if (retryAfterMs !== undefined) return retryAfterMs
  return Math.round(random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1)))
}

async function waitUnlessStopped(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(clock, waitMs, signal)
  } catch {
    throw new ModelError('aborted', 'The call was stopped', { retryable: false })
  }
}

/** Watches one call. Activity only records the time: a timer per token would cost more than the token. */
function watchIdle(options: { clock: Clock; signal: AbortSignal; idleTimeoutMs: number }) {
  const { clock, signal, idleTimeoutMs } = options
  const expiry = new AbortController()
  let lastActivity = clock.now()
  const check = () => {
    const left = lastActivity + idleTimeoutMs - clock.now()
    if (left > 0) cancel = clock.after(left, check)
    else expiry.abort()
  }
  let cancel = clock.after(idleTimeoutMs, check)

  return {
    /** Aborts with the caller's signal, and after too long without activity. */
    signal: AbortSignal.any([signal, expiry.signal]),
    onActivity: () => {
      lastActivity = clock.now()
    },
    expired: () => expiry.signal.aborted,
    stop: () => cancel(),
  }
}
