import fastCheck from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkDestination, checkRedirect, createListedHosts, EgressError } from './destinations.ts'

const noneListed = createListedHosts([])

function isRefused(text: string): boolean {
  try {
    checkDestination(new URL(text), noneListed)
    return false
  } catch (error) {
    if (error instanceof EgressError || error instanceof TypeError) return true
    throw error
  }
}

describe('checkDestination', () => {
  it.each([
    'http://127.0.0.1/',
    'http://127.0.0.1./',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.0.0.1/',
    'http://0177.0.0.1/',
    'http://017700000001/',
    'http://0/',
    'http://127。0。0。1/',
    'http://127．0．0．1/',
    'http://１２７.0.0.1/',
    'http://①②⑦.⓪.⓪.①/',
    'http://%31%32%37.0.0.1/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::FFFF:7F00:1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[2002:7f00:1::]/',
    'http://[fe80::1%25eth0]/',
    'http://[fd00::1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http:\\\\127.0.0.1\\',
    'http:127.0.0.1/',
    'http://127.0.0.1:80:80/',
    'http://user@8.8.8.8/',
    'http://:secret@8.8.8.8/',
    'http://8.8.8.8:80@127.0.0.1/',
    'ftp://8.8.8.8/',
    'file:///etc/passwd',
    'data:text/plain,hello',
    'javascript:alert(1)',
    'blob:http://8.8.8.8/x',
  ])('SEC-8 refuses %s', (text) => {
    expect(isRefused(text)).toBe(true)
  })

  it.each(['http://8.8.8.8/', 'https://[2606:4700:4700::1111]/', 'https://example.com/x?y#z', 'HTTPS://EXAMPLE.COM'])(
    'SEC-8 lets %s pass',
    (text) => {
      expect(isRefused(text)).toBe(false)
    },
  )

  it('SEC-8 rejects a private IPv4 address in every spelling of its numbers', () => {
    const byte = fastCheck.integer({ min: 0, max: 255 })
    const spelling = (value: number) =>
      fastCheck.constantFrom(
        `${value}`,
        `0x${value.toString(16)}`,
        `0X${value.toString(16).toUpperCase()}`,
        `0${value.toString(8)}`,
      )
    const written = fastCheck
      .tuple(byte, byte, byte)
      .chain(([b, c, d]) => {
        const forms = [
          [127, b, c, d],
          [127, b, c * 256 + d],
          [127, b * 65_536 + c * 256 + d],
          [127 * 16_777_216 + b * 65_536 + c * 256 + d],
        ]
        return fastCheck.oneof(...forms.map((numbers) => fastCheck.tuple(...numbers.map(spelling))))
      })
      .map((numbers) => numbers.join('.'))
    const dotted = fastCheck.tuple(
      written,
      fastCheck.constantFrom('.', '。', '．', '｡'),
      fastCheck.constantFrom('', '.'),
    )
    fastCheck.assert(
      fastCheck.property(dotted, ([address, dot, end]) => {
        expect(isRefused(`http://${address.replaceAll('.', dot)}${end}/`)).toBe(true)
      }),
    )
  })
})

describe('createListedHosts', () => {
  const isListed = createListedHosts([
    { host: 'LocalHost', port: 11434 },
    { host: '::1', port: 80 },
    { host: 'nas.lan' },
  ])

  it.each([
    ['http://localhost:11434/api', true],
    ['http://LOCALHOST.:11434/api', true],
    ['http://localhost:11435/api', false],
    ['http://localhost/', false],
    ['http://127.0.0.1:11434/', false],
    ['http://[::1]/', true],
    ['http://[0:0:0:0:0:0:0:1]:80/', true],
    ['https://[::1]/', false],
    ['https://nas.lan:5001/', true],
    ['https://nas.lan.example.com/', false],
    ['https://evil-nas.lan/', false],
  ])('SEC-8 knows whether %s is listed: %s', (url, expected) => {
    expect(isListed(new URL(url))).toBe(expected)
  })
})

describe('checkRedirect', () => {
  const isListed = createListedHosts([{ host: 'nas.lan' }, { host: '127.0.0.1', port: 11434 }])
  const target = new URL('http://127.0.0.1:11434/api/delete')

  it('SEC-8 does not let a public page redirect to a listed host', () => {
    const page = checkDestination(new URL('https://example.com/'), isListed)
    expect(() => checkRedirect(page, target, isListed)).toThrow('127.0.0.1 is not a public address')
  })

  it('SEC-8 lets a listed host redirect to another one', () => {
    const nas = checkDestination(new URL('http://nas.lan/'), isListed)
    expect(checkRedirect(nas, target, isListed)).toMatchObject({ listed: true })
  })
})
