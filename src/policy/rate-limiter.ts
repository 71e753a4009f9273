import type { Clock } from '../base/clock.ts'
import { canonicalAddress } from './client-address.ts'

type Admission = { ok: true } | { ok: false; retryAfterSeconds: number }

/**
 * How often one client may come. Loopback is no exception: any page in the user's browser and any program of another
 * user speaks from there.
 */
export interface RateLimiter {
  /** Counts one request. */
  admit(address: string | undefined): Admission
  /** Whether this client may still try a token. Counts nothing. */
  mayAuthenticate(address: string | undefined): Admission
  /** Counts one token that was wrong. */
  countFailure(address: string | undefined): void
}

export function createRateLimiter(options: {
  clock: Clock
  requestsPerMinute: number
  failuresPerMinute: number
  /** How many clients are told apart; those that come when it is full share one allowance. */
  maxClients?: number
}): RateLimiter {
  const { clock, maxClients = 10_000 } = options
  const requests = createBuckets({ clock, perMinute: options.requestsPerMinute, maxClients })
  const failures = createBuckets({ clock, perMinute: options.failuresPerMinute, maxClients })
  return {
    admit: (address) => requests.take(canonicalAddress(address)),
    mayAuthenticate: (address) => failures.look(canonicalAddress(address)),
    countFailure: (address) => void failures.take(canonicalAddress(address)),
  }
}

const overflow = 'overflow'
const sweepEveryMs = 1000

/** Token buckets: a minute's worth at once, refilled steadily. */
function createBuckets(options: { clock: Clock; perMinute: number; maxClients: number }) {
  const { clock, perMinute, maxClients } = options
  const perMs = perMinute / 60_000
  const buckets = new Map<string, { tokens: number; at: number }>()
  let sweptAt = Number.NEGATIVE_INFINITY

  function refilled(bucket: { tokens: number; at: number }): number {
    return Math.min(perMinute, bucket.tokens + (clock.now() - bucket.at) * perMs)
  }

  /** A full bucket says nothing that a missing one would not. */
  function sweep() {
    if (clock.now() - sweptAt < sweepEveryMs) return
    sweptAt = clock.now()
    for (const [client, bucket] of buckets) if (refilled(bucket) >= perMinute) buckets.delete(client)
  }

  function keyOf(client: string): string {
    if (buckets.has(client)) return client
    if (buckets.size >= maxClients) sweep()
    return buckets.size >= maxClients ? overflow : client
  }

  function tokensOf(key: string): number {
    const bucket = buckets.get(key)
    return bucket ? refilled(bucket) : perMinute
  }

  function answer(tokens: number): Admission {
    if (tokens >= 1) return { ok: true }
    return { ok: false, retryAfterSeconds: Math.max(1, Math.ceil((1 - tokens) / perMs / 1000)) }
  }

  return {
    look: (client: string) => answer(tokensOf(keyOf(client))),
    take(client: string): Admission {
      const key = keyOf(client)
      const tokens = tokensOf(key)
      buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: clock.now() })
      return answer(tokens)
    },
  }
}
