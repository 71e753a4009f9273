import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPackages } from './read-packages.ts'

function entry(path: string, content: string, more: object = {}): Buffer {
  const packed = deflateSync(content)
  return Buffer.concat([line({ path, size: Buffer.byteLength(content), packed: packed.length, ...more }), packed])
}

function line(header: object): Buffer {
  return Buffer.from(`${JSON.stringify(header)}\n`)
}

const end = line({ end: true })

describe('packages that come out of their build', () => {
  it('TOOL-5 are read whole', () => {
    const read = readPackages(Buffer.concat([entry('a/b.py', 'x = 1'), entry('c.py', ''), end]))
    expect(read.ok && Array.from(read.value, ([path, bytes]) => [path, Buffer.from(bytes).toString()])).toEqual([
      ['a/b.py', 'x = 1'],
      ['c.py', ''],
    ])
    expect(readPackages(line({ error: 'no such package' }))).toEqual({ ok: false, message: 'no such package' })
  })

  it.each(['../x', '/etc/passwd', 'a/../../x', 'a/./x', '.', '', 'a//b', 'a/', 'a\\b', 'a\u0000b', 'x'.repeat(600)])(
    'SEC-11 are refused with a path that leads elsewhere: %j',
    (path) => {
      expect(readPackages(Buffer.concat([entry(path, 'x'), end])).ok).toBe(false)
    },
  )

  it.each([
    ['no end', entry('a', 'x')],
    ['something after its end', Buffer.concat([end, entry('a', 'x')])],
    ['a file that is cut', Buffer.concat([entry('a', 'x'.repeat(100)).subarray(0, -3), end])],
    ['a size that is too small', Buffer.concat([entry('a', 'x'.repeat(100), { size: 10 }), end])],
    ['a size that is too large', Buffer.concat([entry('a', 'x', { size: 1_000 }), end])],
    ['a file larger than all may be', Buffer.concat([entry('a', 'x', { size: 10 ** 12 }), end])],
    ['no line at all', Buffer.alloc(10_000, 'x')],
    ['no JSON', Buffer.from('hello\n')],
  ])('SEC-11 are refused with %s', (_, output) => {
    expect(readPackages(output).ok).toBe(false)
  })

  it('SEC-11 never throws', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.uint8Array(),
            fc.json().map((text) => Buffer.from(`${text}\n`)),
          ),
        ),
        (parts) => {
          readPackages(Buffer.concat(parts))
        },
      ),
    )
  })
})
