import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { judgeCall, type Reach, type Seen } from './approvals.ts'

const both: Seen = { untrusted: true, private: true }

function allows(reach: Reach, seen: Seen = both, destinations: readonly string[] = []): boolean {
  return judgeCall({ seen, reach, destinations }).allowed
}

describe('judgeCall', () => {
  it('SEC-6 always allows reading, never what needs approval, and acting until both kinds were seen', () => {
    const outcomes = [false, true].flatMap((untrusted) =>
      [false, true].map((isPrivate) =>
        (['reads', 'acts', 'asks'] as const).map((kind) =>
          allows({ kind, destination: null }, { untrusted, private: isPrivate }),
        ),
      ),
    )
    expect(outcomes).toEqual([
      [true, true, false],
      [true, true, false],
      [true, true, false],
      [true, false, false],
    ])
  })

  it('SEC-6 a declared origin covers everything under it and nothing else', () => {
    const declared = ['https://api.example.org', 'https://example.com:8443', 'http://plain.example', 'mcp:calendar']
    const goes = (destination: string | null) => allows({ kind: 'acts', destination }, both, declared)
    for (const destination of [
      'https://api.example.org',
      'https://api.example.org/v1/mails?to=a',
      'https://API.example.org:443/x',
      'https://example.com:8443/x',
      'http://plain.example',
      'mcp:calendar',
    ])
      expect([destination, goes(destination)]).toEqual([destination, true])
    for (const destination of [
      null,
      '',
      'api.example.org',
      'http://api.example.org/',
      'https://api.example.org.evil.example/',
      'https://api.example.org@evil.example/',
      'https://evil.example/https://api.example.org',
      'https://example.org/',
      'https://example.com/',
      'http://plain.example/path',
      'mcp:calendar/x',
      'MCP:calendar',
      'mcp:calendar ',
    ])
      expect([destination, goes(destination)]).toEqual([destination, false])
  })

  it('SEC-6 a declaration that is not an origin covers only itself', () => {
    const declared = ['https://example.org/mails', 'https://example.org/', 'https:']
    expect(allows({ kind: 'acts', destination: 'https://example.org/other' }, both, declared)).toBe(false)
    expect(allows({ kind: 'acts', destination: 'https://example.org/mails' }, both, declared)).toBe(true)
  })

  it('SEC-6 no destination allows what always needs approval', () => {
    expect(allows({ kind: 'asks', destination: 'exec:host' }, both, ['exec:host'])).toBe(false)
  })

  it('SEC-6 any destination text is judged, and allowed only by a declaration', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl({ withQueryParameters: true })), (destination) => {
        expect(allows({ kind: 'acts', destination }, both, ['https://declared.invalid', 'mcp:x'])).toBe(
          destination === 'mcp:x' || destination.startsWith('https://declared.invalid'),
        )
      }),
    )
  })

  it('SEC-6 all orders of the three up to length 6', () => {
    const letters = ['untrusted', 'private', 'act'] as const
    type Letter = (typeof letters)[number]
    let orders: Letter[][] = [[]]
    let judged = 0
    for (let length = 1; length <= 6; length += 1) {
      orders = orders.flatMap((order) => letters.map((letter) => [...order, letter]))
      for (const order of orders) {
        const seen = { untrusted: false, private: false }
        for (const [place, letter] of order.entries()) {
          if (letter === 'act') {
            // The whole rule again, computed from the history instead of from counters.
            const before = order.slice(0, place)
            const free = !(before.includes('untrusted') && before.includes('private'))
            expect(allows({ kind: 'acts', destination: null }, seen)).toBe(free)
            judged += 1
          } else seen[letter] = true
        }
      }
    }
    expect(orders).toHaveLength(729)
    expect(judged).toBe(2_005)
  })
})
