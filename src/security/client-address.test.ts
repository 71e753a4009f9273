import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalAddress } from './tokens.ts'

describe('canonical address', () => {
  it("SEC-3 is the same for all spellings of a client's address", () => {
    for (const address of [
      '127.0.0.1',
      '::ffff:127.0.0.1',
      '::FFFF:7f00:1',
      '[::ffff:127.0.0.1]',
      '0:0:0:0:0:ffff:7f00:0001',
    ])
      expect(canonicalAddress(address)).toBe('127.0.0.1')
    for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:0db8:0001:0002::9%eth0'])
      expect(canonicalAddress(address)).toBe('2001:db8:1:2::/64')
    expect(canonicalAddress('2001:db8:1:3::1')).not.toBe(canonicalAddress('2001:db8:1:2::1'))
    for (const address of [undefined, '', 'not an address', '1.2.3.4, 5.6.7.8'])
      expect(canonicalAddress(address)).toBe('unknown')
  })

  it('SEC-3 is the same for every IPv4 address and its mapped form, and accepts any text', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(canonicalAddress(`::ffff:${address}`)).toBe(canonicalAddress(address))
      }),
    )
    fc.assert(fc.property(fc.string(), (text) => void canonicalAddress(text)))
  })
})
