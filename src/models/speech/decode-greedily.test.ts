import { describe, expect, it } from 'vitest'
import { createTokenText, cutWindows, type DecodingRules, decodeGreedily, type NextTokens } from './whisper.ts'

const rules: DecodingRules = {
  begin: 20,
  end: 10,
  transcribe: 23,
  withoutTimes: 25,
  noSpeech: 24,
  languages: new Map([
    [21, 'en'],
    [22, 'de'],
  ]),
  suppressed: [3, 20, 23, 24],
  notFirst: [5, 10],
}

/** Scores in which these tokens stand out, the first of them the most. */
function favouring(...tokens: number[]): Float32Array {
  const scores = new Float32Array(30)
  for (const [index, token] of tokens.entries()) scores[token] = 20 - index
  return scores
}

/** Plays the answers in order, then the end; records its input. */
function scripted(...answers: Float32Array[]): { next: NextTokens; given: number[][] } {
  const given: number[][] = []
  return {
    given,
    async next(tokens) {
      given.push([...tokens])
      return answers[given.length - 1] ?? favouring(10)
    },
  }
}

describe('decoding', () => {
  it('CHAN-4 detects the language, then takes the likeliest token each time', async () => {
    const { next, given } = scripted(favouring(22, 21), favouring(1), favouring(2), favouring(10))
    expect(await decodeGreedily(rules, next)).toEqual({ tokens: [1, 2], language: 'de' })
    expect(given).toEqual([[20], [22, 23, 25], [1], [2]])
  })

  it('VOICE-6 prefers the expected language, unless another one is clearly spoken', async () => {
    const close = new Float32Array(30)
    close[22] = 10.5
    close[21] = 10
    const expected = scripted(close, favouring(1), favouring(10))
    expect((await decodeGreedily(rules, expected.next, { expected: 'en' })).language).toBe('en')
    const clear = new Float32Array(30)
    clear[22] = 10
    const other = scripted(clear, favouring(1), favouring(10))
    expect((await decodeGreedily(rules, other.next, { expected: 'en' })).language).toBe('de')
    const unknown = scripted(close, favouring(1), favouring(10))
    expect((await decodeGreedily(rules, unknown.next, { expected: 'xx' })).language).toBe('de')
  })

  it('VOICE-2 stops when the result is not needed any more', async () => {
    const { next, given } = scripted(favouring(21), favouring(1), favouring(2), favouring(1))
    expect((await decodeGreedily(rules, next, { isCanceled: () => given.length > 2 })).tokens).toEqual([1])
  })

  it('CHAN-4 never outputs suppressed tokens, times, or an empty start', async () => {
    const { next } = scripted(favouring(21), favouring(5, 10, 3, 27, 1), favouring(26, 3, 5), favouring(10))
    expect((await decodeGreedily(rules, next)).tokens).toEqual([1, 5])
  })

  it('CHAN-4 outputs nothing if the model reports silence and is unsure of the text', async () => {
    const unsure = new Float32Array(30).fill(1)
    const silence = scripted(favouring(24), unsure, favouring(10))
    expect((await decodeGreedily(rules, silence.next)).tokens).toEqual([])
    const sure = scripted(favouring(24), favouring(1), favouring(10))
    expect((await decodeGreedily(rules, sure.next)).tokens).toEqual([1])
  })

  it('CHAN-4 stops when the model repeats itself', async () => {
    let calls = 0
    const next: NextTokens = async () => {
      calls += 1
      return calls === 1 ? favouring(21) : favouring(calls % 2 === 0 ? 1 : 2)
    }
    expect((await decodeGreedily(rules, next)).tokens).toEqual([1, 2])
    expect(calls).toBeLessThan(20)
  })
})

describe('tokens and text', () => {
  it('CHAN-4 unprintable bytes are restored from their letters', () => {
    const text = createTokenText({ Hello: 1, Ġworld: 2, Ã: 3, '¼': 4 })
    expect(text.decode([1, 2])).toBe('Hello world')
    expect(text.decode([3, 4])).toBe('ü')
    expect(text.decode([3, 99])).toBe('\ufffd')
  })
})

describe('windows', () => {
  it('CHAN-4 splits long recordings at quiet places, and loses nothing', () => {
    const samples = new Float32Array(16_000 * 70).fill(0.5)
    samples.fill(0, 16_000 * 27, 16_000 * 27.5)
    const windows = cutWindows(samples)
    expect(windows.reduce((sum, { length }) => sum + length, 0)).toBe(samples.length)
    expect(windows.every(({ length }) => length <= 16_000 * 30)).toBe(true)
    expect((windows[0]?.length ?? 0) / 16_000).toBeGreaterThan(27)
    expect((windows[0]?.length ?? 0) / 16_000).toBeLessThan(27.5)
    expect(cutWindows(new Float32Array(10))).toHaveLength(1)
  })
})
