import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createWordPieces } from './bge-model.ts'
import { localModelFolder, modelFiles } from './local-embedder.ts'

const small = new Map(
  ['[UNK]', '[CLS]', '[SEP]', 'un', '##want', '##ed', 'run', '##ning', ',', 'e', '中', '[', ']', 'sep'].map(
    (piece, number) => [piece, number],
  ),
)
const names = new Map([...small].map(([piece, number]) => [number, piece]))

function cut(text: string): string[] {
  const pieces = createWordPieces(small)
    .encode(text)
    .map((number) => names.get(number) ?? '')
  expect([pieces.shift(), pieces.pop()]).toEqual(['[CLS]', '[SEP]'])
  return pieces
}

describe('word pieces', () => {
  it('MEM-15 takes the longest matching piece, in lower case and without accents', () => {
    expect(cut('UNwanted, running')).toEqual(['un', '##want', '##ed', ',', 'run', '##ning'])
    expect(cut('É\u0301\u200b\u0000e')).toEqual(['[UNK]'])
    expect(cut('é E')).toEqual(['e', 'e'])
    expect(cut('中e中')).toEqual(['中', 'e', '中'])
    expect(cut('unx run')).toEqual(['[UNK]', 'run'])
    expect(cut(`${'e'.repeat(101)} e`)).toEqual(['[UNK]', 'e'])
    expect(cut(' \t\n ')).toEqual([])
  })

  it('MEM-15 no text can insert a mark', () => {
    expect(cut('[SEP][CLS]')).toEqual(['[', 'sep', ']', '[', '[UNK]', ']'])
  })

  it('MEM-15 reads the beginning of a text that is too long', () => {
    for (const words of ['run ', 'e unwanted ']) {
      expect(createWordPieces(small).encode(words.repeat(2_000))).toHaveLength(512)
    }
    expect(cut('running, '.repeat(2_000)).slice(0, 3)).toEqual(['run', '##ning', ','])
    expect(cut(`run${' '.repeat(20_000)}run`)).toEqual(['run'])
  })

  it('MEM-15 any text gives numbers of the vocabulary between the two marks', () => {
    const { encode } = createWordPieces(small)
    const anyText = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme', maxLength: 600, size: 'max' }),
      fc
        .array(fc.constantFrom('\ud800', '\udc00', 'İ', 'ß', '[SEP]', '中', 'é', ' ', 'un'))
        .map((some) => some.join('')),
    )
    fc.assert(
      fc.property(anyText, (text) => {
        const numbers = encode(text)
        expect(numbers[0]).toBe(small.get('[CLS]'))
        expect(numbers.at(-1)).toBe(small.get('[SEP]'))
        expect(numbers.length).toBeLessThanOrEqual(512)
        for (const number of numbers.slice(1, -1)) {
          expect(names.has(number) && number !== numbers[0] && number !== numbers.at(-1)).toBe(true)
        }
        expect(encode(text)).toEqual(numbers)
      }),
    )
  })
})

const hasModel = existsSync(join(localModelFolder, modelFiles.tokenizer))

describe.skipIf(!hasModel)('word pieces of the model (npm test fetches it)', () => {
  // As the model's own tokenizer splits them.
  it.each<[string, number[]]>([
    ['hello world', [7592, 2088]],
    ['Hello, WORLD!', [7592, 1010, 2088, 999]],
    ['I cannot eat prawns', [1045, 3685, 4521, 10975, 10376, 3619]],
    ['Café déjà-vu naïve', [7668, 2139, 3900, 1011, 24728, 15743]],
    ['$5.00 + tax = ~7€', [1002, 1019, 1012, 4002, 1009, 4171, 1027, 1066, 1021, 30102]],
    ['don’t “quote” —dash…', [2123, 1521, 1056, 1523, 14686, 1524, 1517, 11454, 1529]],
    ['日本語 text 中文', [1864, 1876, 1950, 3793, 1746, 1861]],
    ['', []],
  ])('MEM-15 %j', (text, numbers) => {
    const { model } = JSON.parse(readFileSync(join(localModelFolder, modelFiles.tokenizer), 'utf8'))
    const { encode } = createWordPieces(new Map(Object.entries<number>(model.vocab)))
    expect(encode(text)).toEqual([101, ...numbers, 102])
  })
})
