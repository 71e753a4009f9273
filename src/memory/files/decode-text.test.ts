import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeText } from './decode-text.ts'

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

it('MEM-16 reads any text and drops its byte order mark', () => {
  expect(decodeText(utf8('Tee 🍵\r\n'))).toEqual({ ok: true, text: 'Tee 🍵\r\n' })
  expect(decodeText(utf8('\ufeffTea'))).toEqual({ ok: true, text: 'Tea' })
  expect(decodeText(Buffer.from('\ufeffTea', 'utf16le'))).toEqual({ ok: true, text: 'Tea' })
  expect(decodeText(Buffer.from('\ufeffTea', 'utf16le').swap16())).toEqual({ ok: true, text: 'Tea' })
})

it('MEM-16 reads what is no UTF-8 as far as it goes, and refuses what is no text', () => {
  expect(decodeText(Buffer.from('caf\xe9 noir', 'latin1'))).toEqual({ ok: true, text: 'caf\ufffd noir' })
  expect(decodeText(Buffer.from('PNG\u0000\u0001'))).toEqual({ ok: false, reason: 'binary' })
})

it('MEM-16 never fails, whatever the bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const decoded = decodeText(bytes)
      expect(decoded.ok ? decoded.text.isWellFormed() : decoded.reason).toBeTruthy()
    }),
  )
})
