import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { createRunChild } from '../../base/processes.ts'
import { phonemeNumbers } from './kokoro.ts'
import { phonemize, splitText, toModelPhonemes } from './phonemize.ts'

const hasEspeak = spawnSync('espeak-ng', ['--version']).status === 0
const words = (text: string) =>
  splitText(text).map((clauses) => clauses.map(({ words, mark }) => words + mark).join(' '))

describe('text in sentences', () => {
  it('CHAN-4 marks end a sentence only at its end', () => {
    expect(words('Good morning! It is 10:30, and pi is 3.14. Dr. Smith asks: why?')).toEqual([
      'Good morning!',
      'It is 10:30, and pi is 3.14.',
      'Dr. Smith asks: why?',
    ])
    expect(words('# A title\n\n- one\n- two\n')).toEqual(['# A title.', '- one.', '- two.'])
    expect(words('He said no. Then he left.')).toEqual(['He said no.', 'Then he left.'])
    expect(words('Wait... what')).toEqual(['Wait…', 'what'])
    expect(words('  ,,, !!! ')).toEqual([])
  })

  it('CHAN-4 for any text, no clause is too long and no word is lost', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.lorem({ maxCount: 200 })), (text) => {
        const clauses = splitText(text).flat()
        expect(clauses.every(({ words }) => words.length > 0 && words.length <= 200)).toBe(true)
        const letters = (given: string) => given.match(/[a-z]/g)?.join('') ?? ''
        expect(letters(clauses.map(({ words }) => words).join(''))).toBe(letters(text))
      }),
      { numRuns: 200 },
    )
  })
})

describe('phonemes', () => {
  it('CHAN-4 are those of the model', () => {
    expect(toModelPhonemes('ðə kwˈɪk bɹˈa^ʊn fˈɑːks\n', 'a')).toBe('ðə kwˈɪk bɹˈWn fˈɑks')
    expect(toModelPhonemes('ˌə^ʊvə nˈa^ɪn', 'b')).toBe('ˌQvə nˈIn')
    expect(toModelPhonemes('bˈɜːd (en)ˈe^ɪt(fr)', 'a')).toBe('bˈɜɹd ˈAt')
  })

  it.skipIf(!hasEspeak)('CHAN-4 of English are all known to the model (needs espeak-ng)', async () => {
    const machine = { runChild: createRunChild({ clock: systemClock() }), searchPath: '/usr/bin:/bin' }
    const text = 'The judge vexed my quick, thorough boys; choosing azure measures -- "button", Loch Ness, naïve!'
    for (const voice of ['af_heart', 'bf_emma']) {
      const phonemes = await phonemize(machine, { text, voice, signal: new AbortController().signal })
      if (!phonemes.ok) throw new Error(phonemes.reason)
      expect([...phonemes.sentences.join('')].filter((letter) => !phonemeNumbers.has(letter))).toEqual([])
    }
  })

  it.skipIf(!hasEspeak)('CHAN-4 no text acts as an option (needs espeak-ng)', async () => {
    const machine = { runChild: createRunChild({ clock: systemClock() }), searchPath: '/usr/bin:/bin' }
    const signal = new AbortController().signal
    const phonemes = await phonemize(machine, { text: '--help; $(id)', voice: 'af_heart', signal })
    expect(phonemes).toMatchObject({ ok: true, sentences: [expect.stringContaining('hˈɛlp')] })
  })

  it('CHAN-4 without espeak-ng it says how to get it', async () => {
    const machine = { runChild: createRunChild({ clock: systemClock() }), searchPath: '/nowhere' }
    const signal = new AbortController().signal
    expect(await phonemize(machine, { text: 'Hello', voice: 'af_heart', signal })).toMatchObject({
      ok: false,
      reason: expect.stringContaining('apt-get install espeak-ng'),
    })
  })
})
