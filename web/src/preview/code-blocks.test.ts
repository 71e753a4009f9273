import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readInfo } from '../components/markdown-source.ts'
import { findBlocks, titleOf, versionsOf } from './code-blocks.ts'

test('PAGE-13 reads the language and the file name of a fence', () => {
  expect(readInfo('html index.html')).toEqual({ language: 'html', name: 'index.html' })
  expect(readInfo('ts:src/app.ts')).toEqual({ language: 'ts', name: 'src/app.ts' })
  expect(readInfo('python title="My app.py"')).toEqual({ language: 'python', name: 'My app.py' })
  expect(readInfo('{.python file=a.py}')).toEqual({ language: '', name: 'a.py' })
  expect(readInfo('style.css')).toEqual({ language: 'css', name: 'style.css' })
  expect(readInfo('JavaScript')).toEqual({ language: 'javascript' })
  expect(readInfo('js {1,3-5}')).toEqual({ language: 'js' })
  expect(readInfo('')).toEqual({ language: '' })
})

test('PAGE-13 finds blocks with their names: in the fence, above it, or in the first comment', () => {
  const text = [
    'First **index.html**:\n\n```html\n<p>1\n```',
    '```py\n# tools/run.py\nprint(1)\n```',
    '1. In a list:\n   ```js\n   let a\n     b\n   ```',
    '~~~\n```\nnot the end\n~~~',
    'See https://example.com/a.html\n```html\n<b>\n```',
    '```html\nnever closed',
  ].join('\n\n')
  expect(findBlocks(text)).toEqual([
    { code: '<p>1', language: 'html', name: 'index.html' },
    { code: '# tools/run.py\nprint(1)', language: 'py', name: 'tools/run.py' },
    { code: 'let a\n  b', language: 'js' },
    { code: '```\nnot the end', language: '' },
    { code: '<b>', language: 'html' },
  ])
})

test('PAGE-13 blocks of one file, or of one language and title, are versions of a document', () => {
  const [one, two, again, other] = [
    { code: '<p>1', language: 'html', name: 'index.html' },
    { code: '<p>2', language: 'html', name: 'Index.html' },
    { code: '<p>2', language: 'html', name: 'index.html' },
    { code: 'x', language: 'js' },
  ] as const
  expect(versionsOf([one, two, again, other], one)).toEqual([one, two])
  // The page shows a block without the name that stands above it.
  expect(versionsOf([one, two], { code: '<p>1', language: 'html' })).toEqual([one, two])
  expect(versionsOf([one, other], other)).toEqual([other])
  const titled = (text: string) => ({ code: `<title>Clock</title>${text}`, language: 'html' })
  expect(versionsOf([titled('a'), one, titled('b')], titled('b'))).toEqual([titled('a'), titled('b')])
  expect(titleOf({ code: 'text\n# Plan\n', language: 'markdown' })).toBe('Plan')
  expect(titleOf({ code: '# Plan\n', language: 'python' })).toBeUndefined()
})

const lines = fc.array(
  fc.oneof(
    fc.constantFrom('```', '````', '~~~', '```html a.html', '  ```js', '', '# x.py'),
    fc.string({ maxLength: 30 }),
  ),
)

test('PAGE-13 any text is read, and every block that was written is found', () => {
  fc.assert(
    fc.property(lines, fc.string(), (parts, info) => {
      const text = parts.join('\n')
      for (const block of findBlocks(text)) {
        expect(versionsOf(findBlocks(text), block).map(({ code }) => code)).toContain(block.code)
        titleOf(block)
      }
      readInfo(info)
    }),
  )
  const code = fc.string({ unit: fc.constantFrom('a', ' ', '\n', '<', '#', '.', 'ü') })
  fc.assert(
    fc.property(fc.array(code), (codes) => {
      const text = codes.map((one) => `words\n\n\`\`\`html\n${one}\n\`\`\`\n`).join('\n')
      expect(findBlocks(text).map((block) => block.code)).toEqual(codes)
    }),
  )
})
