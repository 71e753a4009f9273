import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeResponse, detectText } from './foreign-text.ts'

const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))
const utf8 = (text: string) => new Uint8Array(Buffer.from(text))

describe('decodeText', () => {
  it.each([
    ['the header', latin1('caf\u00e9'), 'text/html; charset=ISO-8859-1', 'café'],
    ['the header in quotes', latin1('caf\u00e9'), 'text/plain; charset="windows-1252"', 'café'],
    ['the page', latin1('<meta charset=iso-8859-1>caf\u00e9'), 'text/html', '<meta charset=iso-8859-1>café'],
    [
      'the older form in a page',
      new Uint8Array([
        ...latin1('<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">'),
        0x83,
        0x65,
      ]),
      'text/html',
      '<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">テ',
    ],
    [
      'XML',
      latin1('<?xml version="1.0" encoding="ISO-8859-1"?>\u00e9'),
      '',
      '<?xml version="1.0" encoding="ISO-8859-1"?>é',
    ],
    ['the mark before the header', new Uint8Array([0xef, 0xbb, 0xbf, ...utf8('é')]), 'text/html; charset=latin1', 'é'],
    ['the mark of two bytes', new Uint8Array([0xff, 0xfe, 0xe9, 0x00]), '', 'é'],
    ['no word at all, as UTF-8', utf8('é'), 'text/html', 'é'],
    ['no word at all, as what else it can be', latin1('\u00e9'), 'text/html', 'é'],
    ['a name that nobody knows', utf8('é'), 'text/html; charset=bogus', 'é'],
    ['a page that cannot be what it says', utf8('<meta charset=utf-16>é'), '', '<meta charset=utf-16>é'],
  ])('uses %s', (_name, bytes, contentType, text) => {
    expect(decodeResponse(bytes, contentType)).toBe(text)
  })

  it('reads any bytes', () => {
    fc.assert(fc.property(fc.uint8Array(), fc.string(), (bytes, type) => void decodeResponse(bytes, type)))
  })
})

describe('detectText', () => {
  // Natural text: no control characters, no lone surrogates.
  const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((some) => !/[\p{Cc}\ufeff]/u.test(some))

  it('restores any text written in UTF-8, and in UTF-16 with a byte order mark', () => {
    fc.assert(
      fc.property(text, (some) => {
        expect(detectText(utf8(some))).toBe(some)
        expect(detectText(new Uint8Array([0xff, 0xfe, ...Buffer.from(some, 'utf16le')]))).toBe(some)
        expect(detectText(new Uint8Array([0xfe, 0xff, ...Buffer.from(some, 'utf16le').swap16()]))).toBe(some)
      }),
    )
  })

  it('reads single-byte Western text, and UTF-16 without a mark', () => {
    expect(detectText(latin1('Gr\u00fc\u00dfe aus K\u00f6ln'))).toBe('Grüße aus Köln')
    expect(detectText(new Uint8Array(Buffer.from('name;city\r\nRuth;Kiel', 'utf16le')))).toBe('name;city\r\nRuth;Kiel')
  })

  it('accepts no image, archive or program as text, and never fails', () => {
    for (const head of ['\x89PNG\r\n\x1a\n\0\0', 'PK\x03\x04\x14\0', '\x7fELF\x02\x01\x01\0', 'GIF89a\x01\0\x01\0']) {
      expect(detectText(latin1(head))).toBeUndefined()
    }
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void detectText(bytes)))
  })
})
