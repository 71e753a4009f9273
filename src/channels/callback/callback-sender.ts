import type { Clock } from '../../base/clock.ts'
import { signRequest } from '../../base/sign-request.ts'
import { EgressError } from '../../egress/egress-error.ts'
import type { GuardedFetch } from '../../egress/guarded-fetch.ts'
import { readRetryAfter } from '../../models/retry-after.ts'
import type { OutboxItem, Sender, SendOutcome } from '../outbox/outbox.ts'
import { whatFailed } from '../telegram/api/what-failed.ts'
import { callbackChannel } from './callback-items.ts'

/** Refusals that may be none a moment later. */
const passing = new Set([408, 409, 425, 429])

/**
 * Calls the program that the config names, signed as webhooks to us are. It is called at least once for each turn: the id
 * of the body, which is also the nonce, tells a repetition.
 */
export function createCallbackSender(dependencies: {
  fetch: GuardedFetch
  clock: Clock
  settings: () => { url: string; secret: string }
}): Sender {
  const { fetch, clock, settings } = dependencies

  function signed(item: OutboxItem, secret: string): Pick<RequestInit, 'headers' | 'body'> {
    const body = JSON.stringify({ id: item.id, ...(item.payload as object) })
    const timestamp = String(Math.floor(clock.now() / 1_000))
    const headers = {
      'content-type': 'application/json',
      'x-familiar-timestamp': timestamp,
      'x-familiar-nonce': item.id,
      'x-familiar-signature': signRequest(secret, { timestamp, nonce: item.id, body }).toString('hex'),
    }
    return { headers, body }
  }

  return {
    channel: callbackChannel,
    async send(item, signal) {
      const { url, secret } = settings()
      try {
        const request = { method: 'POST', redirect: 'manual', signal, ...signed(item, secret) } as const
        const answer = await fetch(url, request)
        await answer.body?.cancel().catch(() => undefined)
        return outcomeOf(answer, clock.now())
      } catch (cause) {
        if (signal.aborted) throw cause
        const { reason } = whatFailed(cause)
        if (cause instanceof EgressError && cause.code.startsWith('blocked')) return { kind: 'failed', reason }
        // Whether it was heard makes no difference: it is called again.
        return { kind: 'retry', reason, afterMs: null }
      }
    },
    onUnknown: () => ({ kind: 'retry' }),
  }
}

function outcomeOf({ status, headers }: Response, now: number): SendOutcome {
  const reason = `HTTP ${status}`
  if (status >= 200 && status < 300) return { kind: 'sent', externalId: null }
  if (status >= 500 || passing.has(status)) {
    return { kind: 'retry', reason, afterMs: readRetryAfter(Object.fromEntries(headers), now) ?? null }
  }
  return { kind: 'failed', reason: status < 400 ? `${reason}: redirects are not followed` : reason }
}
