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

/** How loud it is, whatever its length. */
export function loudness(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length))
}
