import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesHost, readHostPattern } from './destinations.ts'

function allows(pattern: string, url: string): boolean {
  const read = readHostPattern(pattern)
  if (!read.ok) throw new Error(read.message)
  return matchesHost([read.value], new URL(url))
}

describe('readHostPattern', () => {
  it.each([
    ['example.com', { host: 'example.com', isWildcard: false, port: undefined }],
    ['Example.COM.', { host: 'example.com', isWildcard: false, port: undefined }],
    ['*.example.com:8443', { host: 'example.com', isWildcard: true, port: 8443 }],
    ['bücher.example', { host: 'xn--bcher-kva.example', isWildcard: false, port: undefined }],
    ['[2606:4700:0:0::1]:80', { host: '2606:4700::1', isWildcard: false, port: 80 }],
    ['１.1.1.1', { host: '1.1.1.1', isWildcard: false, port: undefined }],
  ])('accepts %s', (text, value) => {
    expect(readHostPattern(text)).toEqual({ ok: true, value })
  })

  it.each([
    ...['', '.', '*', '*.', '*.com', '*.*', '*.*.example.com', 'a*.example.com', 'example.*', '**.example.com'],
    ...['*.127.0.0.1', '*.1', '*.[::1]', 'http://example.com', 'example.com/', 'example.com/path', 'user@example.com'],
    ...['example.com:', 'example.com:0', 'example.com:65536', 'example.com:http', 'example.com:80:80', 'exa mple.com'],
    ...['example.com?', 'example.com#', '%65xample.com', 'example\\.com', '[::1', '::1', ':80'],
    ...[
      'reach,',
      'a,b.example',
      '"x".example',
      '(example.com)',
      '-a.example',
      'a..example',
      `${'a'.repeat(64)}.example`,
    ],
  ])('SEC-8 rejects %j', (text) => {
    expect(readHostPattern(text).ok).toBe(false)
  })

  it('SEC-8 never throws, and accepts only text that names one host', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.webUrl()), (text) => {
        const read = readHostPattern(text)
        if (read.ok) expect(read.value.host).toMatch(/^[^\s/?#@\\*]+$/)
        else expect(read.message).toContain(JSON.stringify(text))
      }),
    )
  })
})

describe('matchesHost', () => {
  it.each([
    ['example.com', 'http://example.com/', true],
    ['example.com', 'https://example.com/', true],
    ['example.com', 'https://EXAMPLE.com.:443/', true],
    ['example.com', 'http://example.com:8080/', false],
    ['example.com', 'http://www.example.com/', false],
    ['example.com', 'http://example.com.evil.net/', false],
    ['example.com', 'http://notexample.com/', false],
    ['*.example.com', 'http://www.example.com/', true],
    ['*.example.com', 'http://a.b.example.com/', true],
    ['*.example.com', 'http://example.com/', false],
    ['*.example.com', 'http://evilexample.com/', false],
    ['example.com:8443', 'https://example.com:8443/', true],
    ['example.com:8443', 'https://example.com/', false],
    ['1.1.1.1', 'http://16843009/', true],
    ['bücher.example', 'http://xn--bcher-kva.example/', true],
  ])('SEC-8 %s and %s: %s', (pattern, url, expected) => {
    expect(allows(pattern, url)).toBe(expected)
  })
})
