import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeIndexedFile } from './index-files.ts'

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

it('MEM-16 reads any text and drops its byte order mark', () => {
  expect(decodeIndexedFile(utf8('Tee 🍵\r\n'))).toEqual({ ok: true, text: 'Tee 🍵\r\n' })
  expect(decodeIndexedFile(utf8('\ufeffTea'))).toEqual({ ok: true, text: 'Tea' })
  expect(decodeIndexedFile(Buffer.from('\ufeffTea', 'utf16le'))).toEqual({ ok: true, text: 'Tea' })
  expect(decodeIndexedFile(Buffer.from('\ufeffTea', 'utf16le').swap16())).toEqual({ ok: true, text: 'Tea' })
})

it('MEM-16 reads invalid UTF-8 as far as possible, and rejects binary data', () => {
  expect(decodeIndexedFile(Buffer.from('caf\xe9 noir', 'latin1'))).toEqual({ ok: true, text: 'caf\ufffd noir' })
  expect(decodeIndexedFile(Buffer.from('PNG\u0000\u0001'))).toEqual({ ok: false, reason: 'binary' })
})

it('MEM-16 never fails, whatever the bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const decoded = decodeIndexedFile(bytes)
      expect(decoded.ok ? decoded.text.isWellFormed() : decoded.reason).toBeTruthy()
    }),
  )
})
