import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Effect, type PolicyMode, policyModes } from '../protocol/permissions.ts'
import { judgeCall, type Reach } from './permissions.ts'

interface Scene {
  untrusted?: boolean
  mode?: PolicyMode
  known?: string
}

function allows(reach: Reach, destinations: readonly string[] = [], scene: Scene = {}): boolean {
  const { untrusted = true, mode = 'balanced', known } = scene
  return judgeCall({ mode, seen: { untrusted }, reach, destinations, isKnown: (address) => address === known }).allowed
}

const effects: readonly Effect[] = ['read', 'change', 'reach', 'later', 'send', 'host']

describe('judgeCall', () => {
  it('SEC-6 asks by effect and mode: text from outside closes the network, people and the machine always ask', () => {
    const open = (scene: Scene) => effects.filter((kind) => allows({ kind, destination: null }, [], scene)).join(' ')
    const tell = (mode: PolicyMode) => [open({ mode, untrusted: false }), open({ mode, untrusted: true })]
    expect(policyModes.map(tell)).toEqual([
      ['read change reach later', 'read'],
      ['read change reach later', 'read change'],
      ['read change reach later', 'read change reach later'],
    ])
  })

  it('SEC-6 a host that was approved with its tool is open, for the network only', () => {
    for (const mode of ['strict', 'balanced'] as const) {
      const open = effects.filter((kind) =>
        allows({ kind, destination: 'https://a.example', isApproved: true }, [], { mode }),
      )
      expect(open.filter((kind) => kind !== 'change')).toEqual(['read', 'reach', 'later'])
    }
  })

  it('SEC-6 an address that the conversation already holds can be read, but not in strict mode', () => {
    const reach = { kind: 'reach', destination: 'https://a.example', reads: 'https://a.example/x' } as const
    expect(allows(reach, [], { known: 'https://a.example/x' })).toBe(true)
    expect(allows(reach, [], { known: 'https://a.example/x', mode: 'strict' })).toBe(false)
    expect(allows(reach, [], { known: 'https://a.example/y' })).toBe(false)
    expect(allows({ ...reach, kind: 'send' }, [], { known: 'https://a.example/x' })).toBe(false)
    expect(allows({ kind: 'reach', destination: 'https://a.example/x' }, [], { known: 'https://a.example/x' })).toBe(
      false,
    )
  })

  it('SEC-6 a declared origin covers everything under it and nothing else', () => {
    const declared = ['https://api.example.org', 'https://example.com:8443', 'http://plain.example', 'mcp:calendar']
    const goes = (destination: string | null) => allows({ kind: 'reach', destination }, declared)
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
    expect(allows({ kind: 'reach', destination: 'https://example.org/other' }, declared)).toBe(false)
    expect(allows({ kind: 'reach', destination: 'https://example.org/mails' }, declared)).toBe(true)
  })

  it('SEC-6 no destination allows what always needs approval', () => {
    expect(allows({ kind: 'host', destination: 'exec:host' }, ['exec:host'])).toBe(false)
  })

  it('SEC-6 any destination text is judged, and allowed only by a declaration', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl({ withQueryParameters: true })), (destination) => {
        expect(allows({ kind: 'reach', destination }, ['https://declared.invalid', 'mcp:x'])).toBe(
          destination === 'mcp:x' || destination.startsWith('https://declared.invalid'),
        )
      }),
    )
  })
})
