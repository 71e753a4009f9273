import fc from 'fast-check'
import { expect, test } from 'vitest'
import { attachedFiles, largestFileBytes } from './take-message.ts'
import { readUpdate } from './telegram-channel.ts'
import { hasWordsOfOthers, messageWords, readButton, type TelegramMessage } from './updates.ts'

const text = fc.string({ unit: 'binary', maxLength: 50 })
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const file = fc.record({
  file_id: text,
  file_size: maybe(fc.nat(40_000_000)),
  file_name: maybe(text),
  mime_type: maybe(text),
  duration: maybe(fc.nat()),
})
const message = fc.record({
  message_id: fc.nat(),
  date: fc.nat(),
  chat: fc.record({ id: fc.nat(), type: fc.constantFrom('private', 'group') }),
  text: maybe(text),
  caption: maybe(text),
  forward_origin: maybe(fc.jsonValue()),
  external_reply: maybe(fc.jsonValue()),
  quote: maybe(fc.record({ text })),
  photo: maybe(
    fc.array(fc.record({ file_id: text, width: fc.nat(), height: fc.nat(), file_size: maybe(fc.nat(40_000_000)) })),
  ),
  document: maybe(file),
  voice: maybe(file),
  audio: maybe(file),
  contact: maybe(fc.record({ phone_number: text, first_name: text })),
  venue: maybe(
    fc.record({
      location: fc.record({
        latitude: fc.double({ noDefaultInfinity: true }),
        longitude: fc.float({ noDefaultInfinity: true }),
      }),
      title: text,
      address: text,
    }),
  ),
})

test('CHAN-1 any input is read or skipped, and keeps its number', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (raw) => {
      readUpdate(raw)
      expect(readUpdate({ update_id: 7, message: raw, callback_query: raw, my_chat_member: raw })?.updateId).toBe(7)
    }),
  )
  const broken = { message_id: 1, date: 1, chat: { id: 1, type: 'private' }, text: 'Hello', voice: 7, from: 'me' }
  expect(readUpdate({ update_id: 7, message: broken })).toMatchObject({ kind: 'message', message: { text: 'Hello' } })
  expect(readUpdate({ message: { text: 'no number' } })).toBeUndefined()
  expect(readUpdate({ update_id: 1.5 })).toBeUndefined()
  expect(readUpdate({ update_id: 7, message: { text: 1 } })).toEqual({ updateId: 7, kind: 'other' })
})

test('CHAN-1 every message has text and files that can be stored and shown', () => {
  fc.assert(
    fc.property(message, (given) => {
      const update = readUpdate({ update_id: 1, message: given })
      expect(update?.kind).toBe('message')
      const read = (update as { message: TelegramMessage }).message
      expect(typeof messageWords(read)).toBe('string')
      for (const { name, mediaType } of attachedFiles(read)) {
        expect(name).toMatch(/^[^/\\\n\r\t]{1,130}$/)
        expect(mediaType).toMatch(/^[a-z0-9.+-]+\/[a-z0-9.+-]+$/)
      }
      const isOthers = given.forward_origin !== undefined || given.external_reply !== undefined
      expect(hasWordsOfOthers(read)).toBe(isOthers)
    }),
  )
})

test('selects the largest size of a photo that may be fetched', () => {
  const sizes = [10, largestFileBytes + 1, 20].map((file_size, at) => {
    return { file_id: `size ${at}`, width: file_size, height: 1, file_size }
  })
  const photo = { message_id: 1, date: 1, chat: { id: 1, type: 'private' }, photo: sizes }
  expect(attachedFiles(photo).map(({ fileId }) => fileId)).toEqual(['size 2'])
})

test('button data is one of ours or means nothing', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (data) => {
      expect(['approval', 'question', 'confirm', 'choice', 'none']).toContain(readButton(data).kind)
    }),
  )
  const approval = { kind: 'approval', id: '0191-ab' }
  expect(readButton('a:0191-ab:y')).toEqual({ ...approval, answer: 'approve', scope: 'once' })
  expect(readButton('a:0191-ab:c')).toEqual({ ...approval, answer: 'approve', scope: 'conversation' })
  expect(readButton('a:0191-ab:a')).toEqual({ ...approval, answer: 'approve', scope: 'always' })
  expect(readButton('a:0191-ab:n')).toEqual({ ...approval, answer: 'deny', scope: 'once' })
  expect(readButton('o:0191-ab:t3')).toEqual({ kind: 'choice', press: { id: '0191-ab', mask: 3, isDone: false } })
  expect(readButton('o:0191-ab:d64')).toEqual({ kind: 'none' })
  expect(readButton('c:71.4:y')).toEqual({ kind: 'confirm', id: '71.4', isYes: true })
  expect(readButton('q:abc:a: b')).toEqual({ kind: 'question', mark: 'abc', choice: 'a: b' })
  for (const data of ['', '-', 'a::y', 'a:1:yes', 'c:1:', 'x:1:y']) expect(readButton(data)).toEqual({ kind: 'none' })
})
