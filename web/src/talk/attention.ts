const hiddenForMs = 60_000

/** Aborts when the page was hidden for a minute in which nobody needed it, or with the outer signal. */
export function whileAttended(outer: AbortSignal, isNeeded: () => boolean): AbortSignal {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  function look(): void {
    clearTimeout(timer)
    if (document.visibilityState === 'hidden') timer = setTimeout(letGo, hiddenForMs)
  }
  function letGo(): void {
    if (isNeeded()) look()
    else controller.abort()
  }
  document.addEventListener('visibilitychange', look)
  controller.signal.addEventListener('abort', () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
  })
  outer.addEventListener('abort', () => controller.abort(), { once: true })
  look()
  return controller.signal
}

export function untilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted || document.visibilityState === 'visible') return resolve()
    const look = () => {
      if (document.visibilityState === 'hidden' && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look, { once: true })
  })
}
