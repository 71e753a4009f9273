import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeSyllables, makeTone } from '../../../test/support/made-sound.ts'
import { findProgram } from '../../base/processes.ts'
import { readWav } from './recordings.ts'
import { hasSpeech } from './speech-gate.ts'

const espeak = await findProgram(['espeak-ng'], process.env.PATH ?? '')
const rate = 16_000

/** The same at every run. */
function noiseOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 16_807) % 2_147_483_647
    return (state / 2_147_483_647 - 0.5) * 2
  }
}

function noise(seconds: number, level: number, seed = 7): Float32Array {
  const next = noiseOf(seed)
  return Float32Array.from({ length: Math.round(rate * seconds) }, () => next() * level)
}

/** A burst of air and the breath after it, in a quiet room. */
function cough(seed: number): Float32Array {
  const next = noiseOf(seed)
  const length = 0.25 + (seed % 10) * 0.02
  let low = 0
  return Float32Array.from({ length: Math.round(rate * 1.4) }, (_, index) => {
    const at = index / rate - 0.4
    const room = next() * 0.001
    if (at < 0 || at > length) return room
    low += (next() - low) * 0.4
    return room + low * (at < 0.05 ? 0.9 : 0.6) * Math.exp(-at * 9)
  })
}

const sound = (samples: Float32Array) => ({ samples, rate })

describe('the silence gate', () => {
  it('VOICE-4 silence, noise, hums and tones are no speech', () => {
    expect(hasSpeech(sound(new Float32Array(rate * 10)))).toBe(false)
    expect(hasSpeech(sound(new Float32Array()))).toBe(false)
    for (const level of [0.002, 0.02, 0.3]) expect(hasSpeech(sound(noise(10, level)))).toBe(false)
    expect(hasSpeech(sound(makeTone({ hertz: 100, rate, seconds: 5, level: 0.1 })))).toBe(false)
    expect(hasSpeech(sound(makeTone({ hertz: 440, rate, seconds: 1 })))).toBe(false)
  })

  it('VOICE-4 a cough is no speech', () => {
    const heard = Array.from({ length: 40 }, (_, index) => hasSpeech(sound(cough(index * 101 + 3))))
    expect(heard.filter(Boolean)).toEqual([])
  })

  it('VOICE-4 a voice is speech, at any rate and in a noisy room', () => {
    for (const other of [8_000, 16_000, 22_050, 48_000]) {
      expect(hasSpeech({ samples: makeSyllables({ rate: other }), rate: other })).toBe(true)
    }
    const room = noise(1, 0.03)
    expect(hasSpeech(sound(makeSyllables().map((sample, index) => sample + (room[index] ?? 0))))).toBe(true)
    expect(hasSpeech(sound(makeSyllables().map((sample) => sample * 0.08)))).toBe(true)
  })

  it.skipIf(espeak === undefined)('VOICE-4 short words in several languages and a whisper are speech', () => {
    const spoken = [
      ...[['en-us', 'Yes.'] as const, ['en-us', 'Stop'] as const, ['en-us+f3', 'Hello there'] as const],
      ...[['de', 'Ja'] as const, ['es', 'No, gracias.'] as const, ['fr', 'Oui'] as const, ['it', 'Va bene'] as const],
      ['en-us+whisper', 'Please turn off the light in the kitchen'] as const,
    ]
    for (const [voice, text] of spoken) {
      const heard = readWav(execFileSync(espeak ?? '', ['--stdout', '-v', voice, text]))
      expect(heard.ok && hasSpeech(heard.sound), text).toBe(true)
    }
  })

  it('VOICE-4 any samples have an answer', () => {
    const samples = fc.array(fc.double({ noNaN: false }), { maxLength: 2_000 })
    fc.assert(
      fc.property(samples, fc.integer({ min: 1, max: 192_000 }), (values, anyRate) => {
        expect(typeof hasSpeech({ samples: Float32Array.from(values), rate: anyRate })).toBe('boolean')
      }),
    )
  })
})
