import { createPowerSpectrum } from './fourier.ts'
import { createMelFilters } from './mel-filters.ts'

export const whisperRate = 16_000
export const windowSeconds = 30
export const melBands = 80
/** A picture of the sound every hundredth of a second. */
export const melFrames = 3_000

const size = 400
const hop = 160
const windowSamples = whisperRate * windowSeconds

const hann = Float64Array.from({ length: size }, (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / size))
const filters = createMelFilters({ bands: melBands, rate: whisperRate, size })
const powerSpectrum = createPowerSpectrum(size)

/** What the model sees of up to 30 seconds: band by band, each with all its frames. What is shorter ends in silence. */
export function melFeatures(samples: Float32Array): Float32Array {
  const features = new Float32Array(melBands * melFrames)
  const piece = new Float64Array(size)
  const power = new Float64Array(size / 2 + 1)
  let loudest = Number.NEGATIVE_INFINITY
  for (let frame = 0; frame < melFrames; frame += 1) {
    cutPiece(samples, frame * hop - size / 2, piece)
    powerSpectrum(piece, power)
    for (const [band, { first, weights }] of filters.entries()) {
      let sum = 0
      for (let index = 0; index < weights.length; index += 1) sum += (power[first + index] ?? 0) * (weights[index] ?? 0)
      const level = Math.log10(Math.max(sum, 1e-10))
      features[band * melFrames + frame] = level
      if (level > loudest) loudest = level
    }
  }
  // What is far below the loudest counts as silence.
  return features.map((level) => (Math.max(level, loudest - 8) + 4) / 4)
}

/** Fades in and out; before the beginning and behind the end the sound is mirrored. */
function cutPiece(samples: Float32Array, from: number, piece: Float64Array): void {
  for (let index = 0; index < size; index += 1) {
    const at = Math.abs(from + index)
    const mirrored = at >= windowSamples ? 2 * (windowSamples - 1) - at : at
    piece[index] = (samples[mirrored] ?? 0) * (hann[index] ?? 0)
  }
}
