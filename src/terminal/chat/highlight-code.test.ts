import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { highlightCode, tokenizeCode } from './theme.ts'

const names = ['ts', 'python', 'sh', 'rust', 'sql', 'yaml', 'css', 'unknown', 'constructor', '']

it('CHAN-2 colors strings, comments, numbers and keywords of the common languages', () => {
  const marked = (code: string, language: string) =>
    tokenizeCode(code, language)
      .filter(({ style }) => style !== 'plain')
      .map(({ style, text }) => `${style} ${text}`)
  expect(marked('const a = "x\\"y" // 1\nlet b = 0x1f', 'ts')).toEqual([
    'keyword const',
    'text "x\\"y"',
    'comment // 1',
    'keyword let',
    'number 0x1f',
  ])
  expect(marked('def f(): # no\n  """a\nb"""', 'Python')).toEqual(['keyword def', 'comment # no', 'text """a\nb"""'])
  expect(marked('SELECT a FROM b -- all', 'sql')).toEqual(['keyword SELECT', 'keyword FROM', 'comment -- all'])
  expect(marked('echo "$#" #x', 'bash')).toEqual(['text "$#"', 'comment #x'])
  expect(marked('/* open', 'rust')).toEqual(['comment /* open'])
  expect(marked('const a', 'brainfuck')).toEqual([])
})

it('CHAN-2 loses and adds no character, whatever the code', () => {
  const pieces = fc.array(
    fc.constantFrom('"', "'", '`', '//', '/*', '*/', '#', '--', '\\', '\n', 'if', '12', ' ', '"""'),
  )
  const code = fc.oneof(
    anyText,
    pieces.map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(code, fc.constantFrom(...names), (text, name) => {
      const tokens = tokenizeCode(text, name)
      expect(tokens.map((token) => token.text).join('')).toBe(text)
      const same = (part: string) => part
      const styles = { plain: same, keyword: same, text: same, number: same, comment: same }
      expect(highlightCode(text, name, styles).join('\n')).toBe(text)
    }),
  )
})
