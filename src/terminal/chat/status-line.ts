import type { Clock } from '../../base/clock.ts'
import { toDisplayText } from '../../base/text.ts'

export interface TerminalStream {
  write(text: string): unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
}

export const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
export const frameMs = 100

/** A status line at the bottom of a terminal that leaves no trace. Draws nothing if the stream is not a terminal. */
export function createStatusLine(options: { stream: TerminalStream; clock: Clock; afterMs: number }) {
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
    /** Shows the text from now on, as soon as `afterMs` of silence have passed. */
    show(next: string): void {
      text = toDisplayText(next).replaceAll('\n', ' ')
      if (!stream.isTTY || cancel) return
      since = clock.now()
      cancel = clock.after(afterMs, draw)
    },
    /** Removes the line; call it before anything else is written. True if it was drawn. */
    clear(): boolean {
      cancel?.()
      cancel = undefined
      const wasDrawn = isDrawn
      if (wasDrawn) stream.write('\r\u001b[K')
      isDrawn = false
      return wasDrawn
    },
  }
}
