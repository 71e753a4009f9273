import type { Clock } from '../../base/clock.ts'
import { toDisplayText } from '../../base/text.ts'

/** One line at the bottom of a terminal that says what goes on and leaves no trace. */
export interface StatusLine {
  /** Shown from now on, as soon as `afterMs` of silence have passed. */
  show(text: string): void
  /** Takes it away; to be called before anything else is written. True where something stood there. */
  clear(): boolean
}

export interface TerminalStream {
  write(text: string): unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 100

/** Draws nothing where the stream is not a terminal. */
export function createStatusLine(options: { stream: TerminalStream; clock: Clock; afterMs: number }): StatusLine {
  const { stream, clock, afterMs } = options
  let text = ''
  let since = 0
  let isDrawn = false
  let cancel: (() => void) | undefined

  function draw(): void {
    const elapsed = clock.now() - since
    const frame = frames[Math.floor(elapsed / frameMs) % frames.length]
    const line = `${frame} ${text} ${Math.floor(elapsed / 1_000)} s`
    stream.write(`\r\u001b[K\u001b[2m${line.slice(0, (stream.columns ?? 80) - 1)}\u001b[22m`)
    isDrawn = true
    cancel = clock.after(frameMs, draw)
  }

  return {
    show(next) {
      text = toDisplayText(next).replaceAll('\n', ' ')
      if (!stream.isTTY || cancel) return
      since = clock.now()
      cancel = clock.after(afterMs, draw)
    },
    clear() {
      cancel?.()
      cancel = undefined
      const wasDrawn = isDrawn
      if (wasDrawn) stream.write('\r\u001b[K')
      isDrawn = false
      return wasDrawn
    },
  }
}
