import type { Clock } from '../../../base/clock.ts'
import type { DropReason } from './export-spans.ts'
import type { OtlpSender } from './otlp-sender.ts'

export interface MetricExport {
  /** Sends the last figures, with one try and no longer than `graceMs`, and stops. */
  close(graceMs: number): Promise<void>
}

/** Figures since the start, again and again: what one request did not bring, the next one holds as well. */
export function startMetricExport(dependencies: {
  send: OtlpSender
  body(): Promise<string>
  onDropped(reason: DropReason, count: number): void
  everyMs: number
  clock: Clock
}): MetricExport {
  const { send, body, onDropped, everyMs, clock } = dependencies
  const stopping = new AbortController()
  let isClosed = false
  let sending: Promise<void> = Promise.resolve()
  let cancelTimer = clock.after(everyMs, sendNow)

  async function sendOnce(signal: AbortSignal): Promise<void> {
    const result = await send(await body(), { signal, attempts: 1 })
    if (!result.ok) onDropped(result.reason, 1)
    else if (result.rejected > 0) onDropped('refused', 1)
  }

  function sendNow(): void {
    sending = sendOnce(stopping.signal).finally(() => {
      if (!isClosed) cancelTimer = clock.after(everyMs, sendNow)
    })
  }

  return {
    async close(graceMs) {
      if (isClosed) return
      isClosed = true
      cancelTimer()
      const cancel = clock.after(graceMs, () => stopping.abort())
      await sending
      if (!stopping.signal.aborted) await sendOnce(stopping.signal)
      cancel()
    },
  }
}
