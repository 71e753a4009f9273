import { writeWav } from '../../src/models/speech/kokoro.ts'

/** A steady tone. */
export function makeTone(options: { hertz: number; rate: number; seconds: number; level?: number }): Float32Array {
  const { hertz, rate, seconds, level = 0.5 } = options
  return Float32Array.from({ length: Math.round(rate * seconds) }, (_, index) => {
    return level * Math.sin((2 * Math.PI * hertz * index) / rate)
  })
}

/** A WAV file of it. */
export function makeToneWav(seconds = 1, rate = 16_000): Uint8Array {
  return writeWav({ samples: makeTone({ hertz: 440, rate, seconds }), rate })
}

/** Syllables of a voice: a falling pitch with its overtones, and short pauses. It has no words. */
export function makeSyllables({ rate = 16_000, seconds = 1 } = {}): Float32Array {
  let phase = 0
  return Float32Array.from({ length: Math.round(rate * seconds) }, (_, index) => {
    const at = index / rate
    phase += (2 * Math.PI * (140 - 30 * (at % 1))) / rate
    const syllable = Math.max(0, Math.sin(2 * Math.PI * 4 * at))
    const overtones = [1, 2, 3, 4, 5].reduce((sum, number) => sum + Math.sin(phase * number) / number, 0)
    return 0.3 * syllable * overtones
  })
}

/** A WAV file of it. */
export function makeSyllablesWav(seconds = 1, rate = 16_000): Uint8Array {
  return writeWav({ samples: makeSyllables({ rate, seconds }), rate })
}

/** How loud it is, whatever its length. */
export function loudness(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length))
}
