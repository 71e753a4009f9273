import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { parseLine } from './command.ts'

it.each([
  ['/pin notes.md', { name: 'pin', argument: 'notes.md', start: 5 }],
  ['  /Pin\t notes.md  ', { name: 'pin', argument: 'notes.md', start: 8 }],
  ['/help', { name: 'help', argument: '', start: 5 }],
  ['/help ', { name: 'help', argument: '', start: 6 }],
  ['/', { name: '', argument: '', start: 1 }],
  ['/remember two\nlines', { name: 'remember', argument: 'two\nlines', start: 10 }],
  ['/recall /etc/passwd', { name: 'recall', argument: '/etc/passwd', start: 8 }],
  ['//etc', undefined],
  ['/etc/passwd', undefined],
  ['hello /pin', undefined],
  ['', undefined],
])('CMD-1 reads %j', (line, parsed) => {
  expect(parseLine(line)).toEqual(parsed)
})

it('CMD-1 reads any text, and finds the argument where it says that it begins', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        anyText,
        anyText.map((text) => `/${text}`),
      ),
      (line) => {
        const parsed = parseLine(line)
        if (!parsed) return
        expect(parsed.name).not.toMatch(/[\s/]/)
        expect(line.slice(parsed.start).trim()).toBe(parsed.argument)
        expect(line.slice(0, parsed.start).trim().toLowerCase()).toBe(`/${parsed.name}`)
      },
    ),
  )
})

it('CMD-1 reads back a name and an argument', () => {
  const argument = anyText.map((text) => text.trim())
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{1,12}$/), argument, (name, text) => {
      expect(parseLine(`/${name} ${text}`)).toMatchObject({ name, argument: text })
    }),
  )
})
