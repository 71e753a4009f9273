import type { Clock } from '../../base/clock.ts'
import type { ModelChild, ModelChildEvents } from '../../base/start-model-child.ts'
import { createTurnstile } from '../../base/turnstile.ts'
import type { ChildAnswer, FromChild, ToChild } from './child-messages.ts'

export type StartVoiceChild = (events: ModelChildEvents<FromChild>) => ModelChild<ToChild>

/** A model in a process of its own, started by the first piece of work and ended after idle minutes. */
export interface AskedChild {
  /** One at a time, in their order. What fails is told as `failed`; only the signal's reason is thrown. */
  ask(work: ToChild, signal: AbortSignal): Promise<ChildAnswer>
  /** Work that waits is told as failed. Resolves when the process is gone. */
  close(): Promise<void>
}

const idleMs = 5 * 60_000
/** Half a minute of sound takes a few seconds on a slow machine: whoever says nothing for this long hangs. */
const patienceMs = 120_000

const closed: ChildAnswer = { type: 'failed', reason: 'Familiar is stopping.' }

export function createAskedChild(options: { start: StartVoiceChild; clock: Clock }): AskedChild {
  const { start, clock } = options
  const inTurn = createTurnstile(1)
  let child: { process: ModelChild<ToChild>; isReady: boolean } | undefined
  let current: { work: ToChild; settle(answer: ChildAnswer): void } | undefined
  let isClosed = false
  let ending = Promise.resolve()
  let stopTimer = () => {}

  function advance(): void {
    child ??= startProcess()
    child.process.setBusy(true)
    watch()
    if (child.isReady && current) child.process.send(current.work)
  }

  function startProcess(): NonNullable<typeof child> {
    let problem: string | undefined
    const own = {
      isReady: false,
      process: start({
        onMessage(message) {
          if (message.type === 'unusable') problem = message.message
          else if (child === own) receive(message)
        },
        onEnd(reason) {
          if (child !== own) return
          child = undefined
          stopTimer()
          current?.settle({ type: 'failed', reason: `The voice model cannot be used: ${problem ?? `it ${reason}`}.` })
        },
      }),
    }
    return own
  }

  function receive(message: Exclude<FromChild, { type: 'unusable' }>): void {
    if (message.type === 'progress') watch()
    else if (message.type !== 'ready') current?.settle(message)
    else if (child) {
      child.isReady = true
      advance()
    }
  }

  function endChild(): void {
    stopTimer()
    const process = child?.process
    child = undefined
    if (process) ending = process.end()
  }

  /** From now on it may be silent for so long; its end is noticed like any other. */
  function watch(): void {
    stopTimer()
    const own = child
    stopTimer = clock.after(patienceMs, () => void own?.process.end())
  }

  async function work(asked: ToChild, signal: AbortSignal): Promise<ChildAnswer> {
    signal.throwIfAborted()
    if (isClosed) return closed
    const { promise, resolve, reject } = Promise.withResolvers<ChildAnswer>()
    const onAbort = () => {
      // It cannot be told to stop in the middle of a window.
      endChild()
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    current = { work: asked, settle: resolve }
    advance()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', onAbort)
      current = undefined
      rest()
    }
  }

  function rest(): void {
    if (!child) return
    stopTimer()
    child.process.setBusy(false)
    stopTimer = clock.after(idleMs, endChild)
  }

  return {
    ask: (asked, signal) =>
      unlessAborted(
        inTurn(() => work(asked, signal)),
        signal,
      ),
    async close() {
      isClosed = true
      current?.settle(closed)
      const last = ending
      endChild()
      await Promise.all([last, ending])
    },
  }
}

/** Whoever waits for a turn need not wait for it to be told. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
