import fastCheck from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPublicAddress } from './destinations.ts'

describe('isPublicAddress', () => {
  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.1',
    '100.63.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
    '2001:4860:4860::8888',
  ])('SEC-8 accepts %s as public', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  it.each([
    ...[
      '127.0.0.1',
      '127.255.255.255',
      '0.0.0.0',
      '0.1.2.3',
      '10.0.0.1',
      '172.16.0.1',
      '192.168.1.1',
      '169.254.169.254',
    ],
    ...['100.64.0.1', '192.0.0.1', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '192.88.99.1'],
    ...['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'ff02::1', 'fec0::1', '100::1'],
    ...['::ffff:8.8.8.8', '::ffff:127.0.0.1', '::8.8.8.8', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '2002:7f00:1::'],
    ...[
      '2001::1',
      '2001:db8::1',
      '3fff::1',
      '2001:10::1',
      '2001:20::1',
      '2001:2::1',
      '4000::1',
      '5f00::1',
      '2606::1%1',
    ],
    ...['0177.0.0.1', '0x7f.0.0.1', '2130706433', '127.1', '8.8.8.8.', ' 8.8.8.8', '', 'localhost', 'example.com'],
  ])('SEC-8 does not accept %j as public', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it('SEC-8 accepts no address of a private range as public', () => {
    const byte = fastCheck.integer({ min: 0, max: 255 })
    const privateAddress = fastCheck.oneof(
      fastCheck.tuple(fastCheck.constantFrom(0, 10, 127), byte, byte, byte),
      fastCheck.tuple(fastCheck.constant(172), fastCheck.integer({ min: 16, max: 31 }), byte, byte),
      fastCheck.tuple(fastCheck.constant(192), fastCheck.constant(168), byte, byte),
      fastCheck.tuple(fastCheck.constant(169), fastCheck.constant(254), byte, byte),
      fastCheck.tuple(fastCheck.constant(100), fastCheck.integer({ min: 64, max: 127 }), byte, byte),
      fastCheck.tuple(fastCheck.integer({ min: 224, max: 255 }), byte, byte, byte),
    )
    fastCheck.assert(
      fastCheck.property(privateAddress, (bytes) => {
        expect(isPublicAddress(bytes.join('.'))).toBe(false)
        expect(isPublicAddress(`::ffff:${bytes.join('.')}`)).toBe(false)
        const hex = bytes.map((value) => value.toString(16).padStart(2, '0')).join('')
        expect(isPublicAddress(`2002:${hex.slice(0, 4)}:${hex.slice(4)}::1`)).toBe(false)
        expect(isPublicAddress(`64:ff9b::${hex.slice(0, 4)}:${hex.slice(4)}`)).toBe(false)
      }),
    )
  })

  it('SEC-8 never throws, and never accepts text that is not an address as public', () => {
    fastCheck.assert(
      fastCheck.property(fastCheck.string({ unit: 'binary' }), (text) => {
        if (isPublicAddress(text)) expect(text).toMatch(/^[0-9a-f:.]+$/i)
      }),
    )
  })
})
