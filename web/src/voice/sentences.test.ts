import { describe, expect, it } from 'vitest'
import { speakable, takeSentences } from './sentences.ts'

const said = (text: string) => takeSentences(text).sentences

describe('the spoken form of a text', () => {
  it('CHAN-3 sentence by sentence, whatever the text is cut into', () => {
    const text = 'First things first. Then, e.g. at 3.5 degrees, wait! Is **it** done?\n\n- one\n- two\n\nYes'
    const whole = said(text)
    expect(whole).toEqual([
      'First things first.',
      'Then, e.g. at 3.5 degrees, wait!',
      'Is it done?',
      'one',
      'two',
      'Yes',
    ])
    for (const step of [1, 2, 5, 11]) {
      const sentences: string[] = []
      let from = 0
      for (let length = step; length < text.length + step; length += step) {
        const taken = takeSentences(text.slice(0, length), { from, isWhole: length >= text.length })
        sentences.push(...taken.sentences)
        from = taken.end
      }
      expect(sentences).toEqual(whole)
    }
  })

  it('CHAN-3 says a sentence as soon as it is whole, and not before', () => {
    expect(takeSentences('Hello there. How', { isWhole: false })).toEqual({ sentences: ['Hello there.'], end: 12 })
    expect(takeSentences('Hello there.', { isWhole: false }).sentences).toEqual([])
  })

  it('CHAN-3 leaves out code, addresses, pictures, HTML and citations', () => {
    expect(said('Run this:\n\n```sh\nrm -rf x. Now.\n```\n\nThen look.')).toEqual(['Run this:', 'Then look.'])
    expect(takeSentences('See.\n\n```js\nlet a = 1. \n', { isWhole: false }).sentences).toEqual(['See.'])
    expect(speakable('See [the page. Now](https://example.org/a.b) or https://example.org/c.')).toBe(
      'See the page. Now or',
    )
    expect(speakable('![a picture](x.png) It <b>is</b> late [memory:0123456789ab].')).toBe('It is late.')
    expect(said('It is late [memory:0123456789ab]. Go.')).toEqual(['It is late.', 'Go.'])
  })

  it('CHAN-3 says tables by their cells, and nothing of marks alone', () => {
    expect(said('| Day | What |\n|---|:--:|\n| Mon | **rest** |\n\n---\n\n> # Well 🎉\n1. first')).toEqual([
      'Day, What',
      'Mon, rest',
      'Well',
      'first',
    ])
  })

  it('CHAN-3 splits a long sentence at a pause', () => {
    const long = `${'one two three four, '.repeat(30)}end.`
    const pieces = said(long)
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.every((piece) => piece.length <= 220)).toBe(true)
    expect(pieces.join(' ')).toBe(long)
  })
})
