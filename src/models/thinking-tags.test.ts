import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LanguageModel, type ModelRequest, type ModelStreamEvent, replayableParts } from './model.ts'
import { createThinkingSplitter, splitThinkingTags } from './thinking-tags.ts'

const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }

/** The final output, after every restart, and the segments. */
function split(pieces: readonly string[], expectInside = false) {
  const splitter = createThinkingSplitter({ expectInside })
  let shown = { text: '', thinking: '' }
  for (const piece of [...pieces.flatMap((text) => splitter.push(text)), ...splitter.end()]) {
    if (piece.type === 'restart') shown = { text: '', thinking: '' }
    else shown[piece.type] += piece.text
  }
  return { ...shown, segments: splitter.segments() }
}

function cut(text: string, places: readonly number[]): string[] {
  const ends = [...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b)
  return ends.map((end, at) => text.slice(at === 0 ? 0 : ends[at - 1], end))
}

const words = fc.constantFrom(
  '<think>',
  '</think>',
  '<thinking>',
  '</thinking>',
  '</reasoning>',
  '<reasoning>',
  '[THINK]',
  '[/THINK]',
  '◁think▷',
  '◁/think▷',
  '<th',
  '</',
  '>',
  '`',
  '```',
  '\n',
  ' ',
  'İ',
  'Hello',
  '.',
)
const answers = fc.array(fc.oneof(words, fc.string({ maxLength: 4 })), { maxLength: 14 }).map((parts) => parts.join(''))

describe('createThinkingSplitter', () => {
  it.each([
    ['<think>a</think>b', 'b', 'a'],
    ['\n<THINK>\na\n</Think>\n\nb', 'b', 'a\n'],
    ['<reasoning>a</reasoning><think>b</think>c', 'c', 'ab'],
    ['[THINK]a[/THINK]b', 'b', 'a'],
    ['<think>never closed', '', 'never closed'],
    ['<think>\n\n</think>\n\nb', 'b', ''],
    ['a\n</think>\n\nb', 'b', 'a\n'],
    ['a. </think>\nb', 'b', 'a. '],
    ['</think>\n\nb', 'b', ''],
  ])('MODEL-2 finds thinking in %j', (answer, text, thinking) => {
    expect(split([answer])).toMatchObject({ text, thinking })
  })

  it.each([
    'Write <think> first and </think> last.',
    'The tag `</think>` ends it.',
    '```\nx\n</think>\n```\ny',
    'It ends with </think> here.',
    'Tags: <think>\n</think>\nand so on',
    '<thinker>a</thinker>',
    ' a < b and c > d',
  ])('MODEL-2 leaves %j unchanged', (answer) => {
    expect(split([answer])).toMatchObject({ text: answer, thinking: '' })
  })

  it('MODEL-2 gives the same for any split, whatever was expected', () => {
    fc.assert(
      fc.property(answers, fc.array(fc.nat(), { maxLength: 12 }), (answer, places) => {
        const whole = split([answer])
        const { segments } = whole
        expect(segments.map(({ open, text, close }) => open + text + close).join('')).toBe(answer)
        for (const pieces of [cut(answer, places), [...answer]]) {
          expect(split(pieces)).toEqual(whole)
          expect(split(pieces, true)).toEqual(whole)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('splitThinkingTags', () => {
  const request: ModelRequest = {
    system: [],
    messages: [],
    tools: [],
    maxTokens: 10,
    loadMedia: () => Promise.reject(new Error('none')),
  }

  async function hear(model: LanguageModel): Promise<ModelStreamEvent[]> {
    return Array.fromAsync(model.stream(request, new AbortController().signal))
  }

  it('MODEL-2 thinking without an opening tag is taken back once, then expected', async () => {
    const text = 'Hm.\n</think>\n\nYes.'
    const served: LanguageModel = {
      info: { id: 'p/m', maxTokens: 1, maxContextTokens: 1, supportsVision: false, costPerMtok: null },
      async *stream() {
        for (const character of text) yield { type: 'text_delta', text: character }
        yield { type: 'finished', response: { parts: [{ type: 'text', text }], stopReason: 'end', usage } }
      },
    }
    const model = splitThinkingTags(served, 'p')
    const first = await hear(model)
    expect(first.filter(({ type }) => type === 'restart')).toHaveLength(1)
    const second = await hear(model)
    expect(second.filter(({ type }) => type === 'restart')).toHaveLength(0)
    for (const events of [first, second]) {
      const last = events.at(-1)
      const parts = last?.type === 'finished' ? last.response.parts : []
      expect(parts).toMatchObject([
        { type: 'thinking', text: 'Hm.\n' },
        { type: 'text', text: 'Yes.' },
      ])
      const sent = replayableParts({ parts, provider: 'p', canReplay: () => false })
      expect(sent.map((part) => (part.type === 'text' ? part.text : '')).join('')).toBe(text)
      expect(replayableParts({ parts, provider: 'other', canReplay: () => true })).toEqual([
        { type: 'text', text: 'Yes.' },
      ])
    }
  })
})
