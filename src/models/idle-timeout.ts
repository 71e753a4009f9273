import type { Clock } from '../base/clock.ts'

export interface IdleWatch {
  /** Aborts when the caller's signal does, and when nothing happened for too long. */
  signal: AbortSignal
  onActivity: () => void
  expired(): boolean
  stop(): void
}

/** Watches one call. Activity only notes the time: a timer for every token would cost more than the token. */
export function watchIdle(options: { clock: Clock; signal: AbortSignal; idleTimeoutMs: number }): IdleWatch {
  const { clock, signal, idleTimeoutMs } = options
  const controller = new AbortController()
  let lastActivity = clock.now()
  let expired = false
  const onAbort = () => controller.abort(signal.reason)
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })

  const check = () => {
    const left = lastActivity + idleTimeoutMs - clock.now()
    if (left > 0) cancel = clock.after(left, check)
    else {
      expired = true
      controller.abort()
    }
  }
  let cancel = clock.after(idleTimeoutMs, check)

  return {
    signal: controller.signal,
    onActivity: () => {
      lastActivity = clock.now()
    },
    expired: () => expired,
    stop: () => {
      cancel()
      signal.removeEventListener('abort', onAbort)
    },
  }
}
