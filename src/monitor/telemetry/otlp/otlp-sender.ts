import { z } from 'zod'
import { type Clock, sleep } from '../../../base/clock.ts'
import { parseJson } from '../../../base/json.ts'

/** `rejected`: how many items of an accepted request the collector did not take. */
type SendResult = { ok: true; rejected: number } | { ok: false; reason: 'refused' | 'unreachable' }

/** Brings one request to the collector: never rejects, and takes at most `attempts` tries. */
export type OtlpSender = (body: string, options: { signal: AbortSignal; attempts: number }) => Promise<SendResult>

/** The only answers after which OTLP asks for another try. */
const retryable = new Set([429, 502, 503, 504])
const firstPauseMs = 1_000
const longestPauseMs = 30_000

type Attempt = SendResult | { retryAfterMs: number | undefined }

export function createOtlpSender(dependencies: {
  url: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
  fetch: typeof globalThis.fetch
  clock: Clock
  random: () => number
}): OtlpSender {
  const { url, headers, timeoutMs, fetch, clock, random } = dependencies

  async function attempt(body: string, stopping: AbortSignal): Promise<Attempt> {
    const timeout = new AbortController()
    const cancel = clock.after(timeoutMs, () => timeout.abort())
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        // Its headers may hold a key: they go to the collector that was named and to nobody else.
        redirect: 'manual',
        signal: AbortSignal.any([stopping, timeout.signal]),
      })
      const text = await response.text()
      if (response.ok) return { ok: true, rejected: rejectedIn(text) }
      if (!retryable.has(response.status)) return { ok: false, reason: 'refused' }
      return { retryAfterMs: retryAfter(response.headers.get('retry-after'), clock.now()) }
    } catch {
      return { retryAfterMs: undefined }
    } finally {
      cancel()
    }
  }

  return async (body, { signal, attempts }) => {
    for (let made = 1; ; made += 1) {
      const result = await attempt(body, signal)
      if ('ok' in result) return result
      if (made >= attempts || signal.aborted) return { ok: false, reason: 'unreachable' }
      const growing = Math.min(longestPauseMs, firstPauseMs * 2 ** (made - 1)) * (0.5 + random() / 2)
      const pauseMs = Math.min(longestPauseMs, result.retryAfterMs ?? growing)
      const isStopped = await sleep(clock, pauseMs, signal).then(
        () => false,
        () => true,
      )
      if (isStopped) return { ok: false, reason: 'unreachable' }
    }
  }
}

const count = z.union([z.string().regex(/^\d+$/), z.number()])
const partialSchema = z.object({
  partialSuccess: z.object({ rejectedSpans: count.optional(), rejectedDataPoints: count.optional() }).optional(),
})

function rejectedIn(text: string): number {
  const parsed = parseJson(text, partialSchema)
  const { rejectedSpans = 0, rejectedDataPoints = 0 } = (parsed.ok && parsed.value.partialSuccess) || {}
  return Number(rejectedSpans) + Number(rejectedDataPoints)
}

/** Seconds, or a date. */
function retryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
