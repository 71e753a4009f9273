import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chunkText, type Passage } from './chunk-text.ts'
import type { TextFormat } from './walk-files.ts'

const sentence = (words: number): string => `${'word '.repeat(words).trim()}.`
const ranges = (passages: Passage[]): number[][] => passages.map(({ firstLine, lastLine }) => [firstLine, lastLine])

describe('chunkText', () => {
  it('MEM-16 splits at headings and names the headings of a passage', () => {
    const text =
      '# Trip\n\n## Packing\n\nA tent.\n\n- rope\n- knife\n\n## Way\nBy train.\n\n# Home ##\n\nWater the plants.\n'
    expect(chunkText(text)).toEqual([
      {
        text: '# Trip\n\n## Packing\n\nA tent.\n\n- rope\n- knife',
        headings: ['Trip', 'Packing'],
        firstLine: 1,
        lastLine: 8,
      },
      { text: '## Way\nBy train.', headings: ['Trip', 'Way'], firstLine: 10, lastLine: 11 },
      { text: '# Home ##\n\nWater the plants.', headings: ['Home'], firstLine: 13, lastLine: 15 },
    ])
  })

  it.each<[TextFormat, string]>([
    ['markdown', 'Trip\n====\n\nPacking\n---\n\nrope'],
    ['restructured', '====\nTrip\n====\n\nPacking\n~~~~~~~\n\nrope'],
    ['org', '* Trip\n** Packing\nrope'],
    ['asciidoc', '= Trip\n\n== Packing\n\nrope'],
  ])('MEM-16 knows the headings of %s', (format, text) => {
    expect(chunkText(text, format)).toMatchObject([{ text, headings: ['Trip', 'Packing'] }])
  })

  it('MEM-16 keeps front matter, code, items and paragraphs whole if they fit', () => {
    const code = `\`\`\`js\n# no heading\n\n${'let a = 1\n'.repeat(60)}\`\`\``
    const text = ['---\ntitle: x\n# no heading\n---', sentence(100), code, `- ${sentence(120)}`].join('\n\n')
    const passages = chunkText(text)
    expect(passages.map((passage) => passage.headings)).toEqual([[], [], []])
    expect(passages.map((passage) => passage.text)).toEqual([
      `---\ntitle: x\n# no heading\n---\n\n${sentence(100)}`,
      code,
      `- ${sentence(120)}`,
    ])
  })

  it('MEM-16 splits long code at its lines, and a wrapped paragraph after a sentence', () => {
    const code = chunkText(`\`\`\`\n${'let a = 1\n'.repeat(200)}\`\`\`\n`)
    expect(ranges(code)).toEqual([
      [1, 80],
      [81, 160],
      [161, 202],
    ])
    const wrapped = chunkText(`${'nine words make a line that does not end\nand then it ends.\n'.repeat(40)}`)
    expect(wrapped.length).toBeGreaterThan(2)
    for (const { text } of wrapped) expect(text).toMatch(/ends\.$/)
  })

  it('MEM-16 splits a line of five megabytes, between sentences and never inside a character', () => {
    const line = `${sentence(30)} `.repeat(33_000)
    const passages = chunkText(line)
    expect(passages.map((passage) => passage.text).join(' ')).toBe(line.trim())
    for (const { text, firstLine, lastLine } of passages) {
      expect([firstLine, lastLine]).toEqual([1, 1])
      expect(text.length).toBeLessThanOrEqual(1_200)
      expect(text.endsWith('word.')).toBe(true)
    }
    for (const unbroken of ['🦀'.repeat(3_000), `x${'🦀'.repeat(3_000)}`]) {
      const pieces = chunkText(unbroken).map((passage) => passage.text)
      expect(pieces.join('')).toBe(unbroken)
      expect(pieces.every((piece) => piece.isWellFormed())).toBe(true)
    }
  })

  it('MEM-16 counts lines the same for every kind of newline, with or without a final one', () => {
    const text = `# A\n\n${sentence(150)}\n\n# B\n\n${sentence(20)}`
    for (const newline of ['\n', '\r\n', '\r']) {
      for (const end of ['', newline, newline.repeat(3)]) {
        const passages = chunkText(text.replaceAll('\n', newline) + end)
        expect(ranges(passages)).toEqual([
          [1, 3],
          [5, 7],
        ])
      }
    }
    expect(chunkText('')).toEqual([])
    expect(chunkText(' \n\t\r\n')).toEqual([])
  })

  it('MEM-16 contains every line of any text once, in order, with its number', () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', ' ', '---', '```', '~~~~', '===', '# One', '## Two #', '* Star', '= Is', '- item', '1. item'),
      fc.integer({ min: 1, max: 400 }).map(sentence),
      fc.integer({ min: 1, max: 3_000 }).map((length) => 'x'.repeat(length)),
      fc.integer({ min: 1, max: 3_000 }).map((length) => ' '.repeat(length)),
    )
    const texts = fc.array(line, { maxLength: 60 }).map((lines) => lines.join('\n'))
    const formats = fc.constantFrom<TextFormat>('markdown', 'restructured', 'org', 'asciidoc')
    fc.assert(
      fc.property(texts, formats, (source, format) => {
        const text = source.replaceAll(/\r\n?/g, '\n')
        const passages = chunkText(source, format)
        let place = 0
        for (const { text: passage, firstLine, lastLine } of passages) {
          expect(passage.length).toBeLessThanOrEqual(1_200)
          const start = text.indexOf(passage, place)
          expect(text.slice(place, start).trim()).toBe('')
          expect(lineOf(text, start)).toBe(firstLine)
          expect(lineOf(text, start + passage.length)).toBe(lastLine)
          place = start + passage.length
        }
        expect(text.slice(place).trim()).toBe('')
        const lines = text.split('\n')
        lines.forEach((line, index) => {
          if (line.trim() === '' || line.length > 1_200) return
          const holding = passages.filter(({ firstLine, lastLine }) => firstLine <= index + 1 && index < lastLine)
          expect(holding).toHaveLength(1)
        })
      }),
      { numRuns: 200 },
    )
  })
})

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
