import type { Clock } from '../../../base/clock.ts'
import type { EndedSpan } from '../create-telemetry.ts'
import type { OtlpSender } from './otlp-sender.ts'

/** Why spans did not arrive. */
export type DropReason = 'queue_full' | 'refused' | 'unreachable'

export interface SpanExport {
  /** Returns at once; what does not fit any more is dropped and counted. */
  push(span: EndedSpan): void
  /** Sends what waits, with one try and no longer than `graceMs`, and stops. */
  close(graceMs: number): Promise<void>
}

const mostAtOnce = 512
const mostWaiting = 2_048
const everyMs = 5_000
const attempts = 5

/** One request is under way at a time: a collector that is slow or away costs a full queue, and nothing else. */
export function createSpanExport(dependencies: {
  send: OtlpSender
  body(spans: readonly EndedSpan[]): string
  onDropped(reason: DropReason, count: number): void
  clock: Clock
}): SpanExport {
  const { send, body, onDropped, clock } = dependencies
  const stopping = new AbortController()
  let waiting: EndedSpan[] = []
  let sending: Promise<void> | undefined
  let cancelTimer: (() => void) | undefined
  let isClosed = false

  async function sendBatch(signal: AbortSignal, tries: number): Promise<void> {
    const batch = waiting.slice(0, mostAtOnce)
    waiting = waiting.slice(mostAtOnce)
    const result = await send(body(batch), { signal, attempts: tries })
    if (!result.ok) onDropped(result.reason, batch.length)
    else if (result.rejected > 0) onDropped('refused', result.rejected)
  }

  function sendSoon(): void {
    if (isClosed || sending) return
    if (waiting.length >= mostAtOnce) begin()
    else if (waiting.length > 0) cancelTimer ??= clock.after(everyMs, begin)
  }

  function begin(): void {
    cancelTimer?.()
    cancelTimer = undefined
    if (sending || isClosed) return
    sending = sendBatch(stopping.signal, attempts).finally(() => {
      sending = undefined
      sendSoon()
    })
  }

  return {
    push(span) {
      if (isClosed || waiting.length >= mostWaiting) return onDropped('queue_full', 1)
      waiting.push(span)
      sendSoon()
    },
    async close(graceMs) {
      if (isClosed) return
      isClosed = true
      cancelTimer?.()
      const deadline = new AbortController()
      const cancel = clock.after(graceMs, () => {
        stopping.abort()
        deadline.abort()
      })
      await sending
      while (waiting.length > 0 && !deadline.signal.aborted) await sendBatch(deadline.signal, 1)
      if (waiting.length > 0) onDropped('unreachable', waiting.length)
      waiting = []
      cancel()
    },
  }
}
