import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { type ResourceCursor, readCursor, writeCursor } from './resources.ts'

it('MCP-1 a cursor comes back as it was given', () => {
  const cursors: ResourceCursor[] = [
    { kind: 'blocks', after: 'plans/über:morgen.md' },
    { kind: 'sessions', after: 200 },
    { kind: 'memories', before: undefined },
    { kind: 'memories', before: { createdAt: 1_700_000_000_000, id: '01a1-7000' } },
  ]
  for (const cursor of cursors) expect(readCursor(writeCursor(cursor))).toEqual(cursor)
  expect(readCursor(undefined)).toEqual({ kind: 'blocks', after: '' })
})

it('MCP-1 an invalid cursor is refused without side effects', () => {
  const encoded = anyText.map((text) => Buffer.from(text).toString('base64url'))
  const marked = anyText.map((text) => Buffer.from(`m:${text}`).toString('base64url'))
  fc.assert(
    fc.property(fc.oneof(anyText, encoded, marked), (text) => {
      try {
        expect(['blocks', 'sessions', 'memories']).toContain(readCursor(text).kind)
      } catch (cause) {
        expect(cause).toBeInstanceOf(FamiliarError)
        expect(cause).toMatchObject({ code: 'bad_request' })
      }
    }),
  )
})
