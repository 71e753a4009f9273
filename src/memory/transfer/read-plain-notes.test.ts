import fc from 'fast-check'
import { expect, it } from 'vitest'
import { numberLines, readPlainNotes } from './plain-notes.ts'

const read = (text: string) => Array.fromAsync(readPlainNotes(numberLines(text.split('\n'))))

it('MEM-14 makes a note of each list item and each paragraph', async () => {
  const text = `---
title: my list
---
# Home

Water the plants
every week.

- eggs
  of hens
  - brown ones

  and large

1. call Bea
2) [ ] call Max
---
\`\`\`
- code

# and no heading
\`\`\`
## Trip ##
* 2026-05-03 start
after it
`
  expect(await read(text)).toEqual([
    { line: 6, content: 'Water the plants\nevery week.', category: 'Home', at: undefined },
    { line: 9, content: 'eggs\n  of hens\n  - brown ones\n\n  and large', category: 'Home', at: undefined },
    { line: 15, content: 'call Bea', category: 'Home', at: undefined },
    { line: 16, content: 'call Max', category: 'Home', at: undefined },
    { line: 18, content: '```\n- code\n\n# and no heading\n```', category: 'Home', at: undefined },
    { line: 24, content: '2026-05-03 start\nafter it', category: 'Trip', at: Date.UTC(2026, 4, 3) },
  ])
})

it('MEM-14 treats an unclosed border as text, and puts every word of any text into some note', async () => {
  expect((await read('---\nkept')).map((note) => note.content)).toEqual(['kept'])
  const line = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '- a', '  - b', '    c', '1. d', '```', '---', '# h', '===', '~~~', '- [ ] e'),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 30 }), async (lines) => {
      const notes = await read(lines.join('\n'))
      for (const { content } of notes) expect(content.trim()).toBe(content)
      const words = notes.map((note) => note.content).join('\n')
      for (const word of ['a', 'b', 'c', 'd']) {
        if (lines[0] !== '---' && lines.some((line) => line.endsWith(word) && line.length < 6))
          expect(words).toContain(word)
      }
    }),
  )
})
