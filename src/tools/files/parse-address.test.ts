import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { parseAddress } from './open-assets.ts'
import { blockUri, readBlockLabel } from './pins.ts'

function labelOf(text: string): string {
  const address = parseAddress(text)
  if (!address.ok) return address.code
  if (address.scheme !== 'familiar') return `${address.scheme}: ${address.path}`
  const read = readBlockLabel(address.path)
  return read.ok ? read.label : read.code
}

describe('addresses', () => {
  it.each([
    ['familiar:///blocks/x.md', 'x.md'],
    ['familiar:///blocks/x', 'x.md'],
    ['familiar://x', 'x.md'],
    ['familiar:///x', 'x.md'],
    ['ikigai:///blocks/decisions.md', 'decisions.md'],
    ['IKIGAI:///skills/ddd.md', 'skills/ddd.md'],
    ['Familiar:////blocks///notes//trip', 'notes/trip.md'],
    ['familiar:\\\\blocks\\x', 'file: familiar:\\\\blocks\\x'],
    ['familiar://notes\\trip', 'notes/trip.md'],
    ['familiar:///blocks/blocks/x', 'blocks/x.md'],
    ['familiar:///blocks/café.md', 'café.md'],
    ['familiar:///blocks/cafe\u0301.md', 'café.md'],
    ['familiar:///blocks/my notes.txt', 'my notes.txt'],
    ['familiar:///blocks/../x', 'invalid_path'],
    ['familiar:///blocks/%2e%2e/x', 'invalid_path'],
    ['familiar:///blocks/.hidden', 'invalid_path'],
    ['familiar:///blocks/x?y', 'invalid_path'],
    ['familiar:///blocks/', 'invalid_path'],
    ['familiar:///blocks/x\u202e.md', 'invalid_path'],
    [`familiar:///blocks/${'x'.repeat(300)}`, 'invalid_path'],
    ['', 'invalid_path'],
    ['  ', 'invalid_path'],
    ['x\u0000.md', 'invalid_path'],
    ['file:///etc/passwd', 'unknown_scheme'],
    ['notes/x.md', 'file: notes/x.md'],
    ['/srv/x', 'file: /srv/x'],
    ['postgres://x', 'postgres: x'],
  ])('ASSET-1 %j is %s', (text, label) => {
    expect(labelOf(text)).toBe(label)
  })

  it('ASSET-1 any text is an address or rejected, and a label survives a round trip', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'familiar:',
        '//',
        '/',
        'blocks',
        '..',
        '.',
        '.md',
        '\\',
        '%2e',
        ' ',
        'a',
        'É',
        '\u0301',
        '\u200b',
      ),
      anyText,
    )
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          text.map((rest) => `familiar://${rest}`),
        ),
        (given) => {
          const address = parseAddress(given)
          if (!address.ok || address.scheme !== 'familiar') return
          const read = readBlockLabel(address.path)
          if (!read.ok) return
          expect(read.label.split('/')).not.toContain('..')
          expect(read.label).not.toMatch(/\/\/|^\/|\/$|[\\%?#\p{Cc}]/u)
          expect(labelOf(blockUri(read.label))).toBe(read.label)
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
