import { AsyncLocalStorage } from 'node:async_hooks'

/** A position in a trace: the current span, or a span of another program that this work belongs to. */
export interface SpanContext {
  /** 32 and 16 lower-case hex digits, neither all zero. */
  traceId: string
  spanId: string
  isSampled: boolean
}

/** The ids of the current work. Ids only: all of it may be logged. */
export interface Work {
  request?: string
  session?: string
  turn?: string
  span?: SpanContext | undefined
}

export type WorkContext = ReturnType<typeof createWorkContext>

const nothing: Work = {}

/**
 * The current work at this place in the code. It follows calls, promises and timers, so that a log line or a span knows
 * its context.
 */
export function createWorkContext() {
  const storage = new AsyncLocalStorage<Work>()
  const current = (): Work => storage.getStore() ?? nothing
  return {
    current,
    /** Runs the task with these ids added to the current ones. */
    within: <T>(more: Work, task: () => T): T => storage.run({ ...current(), ...more }, task),
    /** Runs the task with these ids only: for work that was only started here. */
    apart: <T>(work: Work, task: () => T): T => storage.run(work, task),
  }
}

export function logFieldsOf({ request, session, turn, span }: Work): Record<string, string> {
  return {
    ...(request !== undefined && { request }),
    ...(session !== undefined && { session }),
    ...(turn !== undefined && { turn }),
    ...(span?.isSampled && { trace: span.traceId }),
  }
}

/** Runs a task when there is a free slot. Waiting tasks start in order. */
export type Turnstile = <T>(task: () => Promise<T>) => Promise<T>

export function createTurnstile(most: number): Turnstile {
  const waiting: (() => void)[] = []
  let running = 0
  return async (task) => {
    if (running < most) running += 1
    // A finished task passes its slot on, so that no later task overtakes.
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}

/** Wakes the listeners of a topic. Carries no data: readers catch up from their own cursor. */
export interface Wakeups {
  wake(topic: string): void
  /** The same within this process only. */
  wakeHere(topic: string): void
  /** Calls `listener` at every wake of the topic until the returned function is called. */
  on(topic: string, listener: () => void): () => void
  /** At every wake of any topic. */
  onAny(listener: (topic: string) => void): () => void
}

export function createWakeups(): Wakeups {
  const listeners = new Map<string, Set<() => void>>()
  const anyListeners = new Set<(topic: string) => void>()

  function wake(topic: string): void {
    for (const listener of [...(listeners.get(topic) ?? [])]) listener()
    for (const listener of [...anyListeners]) listener(topic)
  }

  return {
    wake,
    wakeHere: wake,
    on(topic, listener) {
      const known = listeners.get(topic) ?? new Set()
      known.add(listener)
      listeners.set(topic, known)
      return () => {
        known.delete(listener)
        if (known.size === 0) listeners.delete(topic)
      }
    },
    onAny(listener) {
      anyListeners.add(listener)
      return () => void anyListeners.delete(listener)
    },
  }
}

/**
 * One round at once, and one after every wake until the signal aborts. A wake during a round causes another one, so that
 * nothing is missed.
 */
export async function* rounds(
  signal: AbortSignal,
  follow: (wake: () => void) => () => void,
): AsyncGenerator<undefined, void> {
  let woken = Promise.withResolvers<void>()
  const wake = () => woken.resolve()
  const unfollow = follow(wake)
  signal.addEventListener('abort', wake, { once: true })
  try {
    while (!signal.aborted) {
      woken = Promise.withResolvers<void>()
      yield
      await woken.promise
    }
  } finally {
    unfollow()
    signal.removeEventListener('abort', wake)
  }
}

/** Sets the newest entry of a map, and deletes the oldest one above `most`. */
export function setNewest<Key, Value>(entries: Map<Key, Value>, key: Key, value: Value, most: number): void {
  entries.delete(key)
  entries.set(key, value)
  const [oldest] = entries.keys()
  if (entries.size > most && oldest !== undefined) entries.delete(oldest)
}

/** Rejects with the signal's reason as soon as it aborts. The work itself continues, and its outcome is ignored then. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
