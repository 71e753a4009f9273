import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readProxyTarget } from './proxy-server.ts'

const hrefOf = (method: string, target: string): string | undefined => {
  const read = readProxyTarget(method, target)
  return read.ok ? read.value.href : undefined
}

describe('readProxyTarget', () => {
  it.each([
    ['CONNECT', 'example.com:443', 'https://example.com/'],
    ['CONNECT', 'EXAMPLE.com.:8443', 'https://example.com.:8443/'],
    ['CONNECT', '[::1]:443', 'https://[::1]/'],
    ['CONNECT', '2130706433:443', 'https://127.0.0.1/'],
    ['GET', 'http://example.com/a?b', 'http://example.com/a?b'],
    ['GET', 'HTTP://0x7f.1/', 'http://127.0.0.1/'],
    ['POST', 'http://user@example.com/', 'http://user@example.com/'],
  ])('reads %s %s', (method, target, href) => {
    expect(hrefOf(method, target)).toBe(href)
  })

  it.each([
    ...['', 'example.com', 'example.com:', 'example.com:0', 'example.com:99999', ':443', 'https://example.com:443'],
    ...['user@example.com:443', 'user:word@example.com:443', 'example.com:443/', 'example.com:443?x', 'a\\b:443'],
    ...['example.com:443#', 'example.com:443:443', '[::1]', '::1:443', '[::1%lo]:443', 'exam ple.com:443'],
  ])('SEC-8 opens no tunnel to %j', (target) => {
    expect(hrefOf('CONNECT', target)).toBeUndefined()
  })

  it.each([
    '',
    '/',
    '/path',
    '*',
    'example.com:80',
    'https://example.com/',
    'ftp://example.com/',
    'http://',
    'http:/a',
  ])('SEC-8 forwards no request for %j', (target) => {
    expect(hrefOf('GET', target)).toBeUndefined()
  })

  it('SEC-8 never throws, and returns only http and https', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.webUrl(), fc.webAuthority({ withPort: true }))
    fc.assert(
      fc.property(fc.constantFrom('CONNECT', 'GET', 'POST', ''), text, (method, target) => {
        const read = readProxyTarget(method, target)
        if (read.ok) expect(read.value.protocol).toBe(method === 'CONNECT' ? 'https:' : 'http:')
        if (read.ok && method === 'CONNECT') expect(read.value.pathname + read.value.username).toBe('/')
      }),
      { numRuns: 2_000 },
    )
  })
})
