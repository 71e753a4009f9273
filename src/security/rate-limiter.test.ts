import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Clock } from '../base/clock.ts'
import { createRateLimiter } from './tokens.ts'

function setUp(options: { requests?: number; failures?: number; maxClients?: number } = {}) {
  const time = { now: 1_000_000 }
  const clock: Clock = { now: () => time.now, after: () => () => {} }
  const limiter = createRateLimiter({
    clock,
    requestsPerMinute: options.requests ?? 60,
    failuresPerMinute: options.failures ?? 5,
    ...(options.maxClients && { maxClients: options.maxClients }),
  })
  return { time, limiter }
}

describe('rate limiter', () => {
  it('HTTP-2 admits a minute’s worth, says when to retry, and refills', () => {
    const { limiter, time } = setUp()
    for (let request = 0; request < 60; request += 1) expect(limiter.admit('10.0.0.1')).toEqual({ ok: true })
    expect(limiter.admit('10.0.0.1')).toEqual({ ok: false, retryAfterSeconds: 1 })
    expect(limiter.admit('10.0.0.2')).toEqual({ ok: true })
    time.now += 1000
    expect(limiter.admit('10.0.0.1')).toEqual({ ok: true })
    expect(limiter.admit('10.0.0.1')).toMatchObject({ ok: false })
  })

  it('HTTP-2 never admits more than the limit plus the refill', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.array(fc.nat(5000), { maxLength: 200 }), (requests, waits) => {
        const { limiter, time } = setUp({ requests })
        const start = time.now
        let admitted = 0
        for (const wait of waits) {
          time.now += wait
          const answer = limiter.admit('::1')
          if (answer.ok) admitted += 1
          else expect(answer.retryAfterSeconds).toBeLessThanOrEqual(60)
        }
        expect(admitted).toBeLessThanOrEqual(requests + ((time.now - start) * requests) / 60_000 + 1e-6)
      }),
    )
  })

  it('SEC-3 exempts no client, not even loopback', () => {
    const { limiter } = setUp({ requests: 2 })
    expect(['127.0.0.1', '::ffff:127.0.0.1', '127.0.0.1'].map((address) => limiter.admit(address).ok)).toEqual([
      true,
      true,
      false,
    ])
  })

  it('SEC-3 counts failed logins separately and more strictly, and checking is free', () => {
    const { limiter, time } = setUp({ failures: 3 })
    for (let look = 0; look < 100; look += 1) expect(limiter.mayAuthenticate('127.0.0.1').ok).toBe(true)
    for (let failure = 0; failure < 3; failure += 1) limiter.countFailure('::ffff:127.0.0.1')
    expect(limiter.mayAuthenticate('127.0.0.1')).toEqual({ ok: false, retryAfterSeconds: 20 })
    expect(limiter.admit('127.0.0.1').ok).toBe(true)
    expect(limiter.mayAuthenticate('127.0.0.2').ok).toBe(true)
    time.now += 20_000
    expect(limiter.mayAuthenticate('127.0.0.1').ok).toBe(true)
  })

  it('SEC-18 tracks a limited number of clients; a flood of new ones does not unblock others', () => {
    const { limiter, time } = setUp({ failures: 2, maxClients: 100 })
    limiter.countFailure('9.9.9.9')
    limiter.countFailure('9.9.9.9')
    let refused = 0
    for (let client = 0; client < 10_000; client += 1) {
      const address = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`
      if (!limiter.mayAuthenticate(address).ok) refused += 1
      limiter.countFailure(address)
    }
    expect(limiter.mayAuthenticate('9.9.9.9').ok).toBe(false)
    expect(refused).toBeGreaterThan(9000)
    time.now += 120_000
    expect(limiter.mayAuthenticate('11.0.0.1').ok).toBe(true)
    limiter.countFailure('11.0.0.1')
    expect(limiter.mayAuthenticate('11.0.0.1').ok).toBe(true)
  })
})
