import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeText } from './decode-text.ts'

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
  ])('goes by %s', (_name, bytes, contentType, text) => {
    expect(decodeText(bytes, contentType)).toBe(text)
  })

  it('reads any bytes', () => {
    fc.assert(fc.property(fc.uint8Array(), fc.string(), (bytes, type) => void decodeText(bytes, type)))
  })
})
