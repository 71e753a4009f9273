/** One band: which frequencies it takes in, from `first` on, and how much of each. */
export interface MelFilter {
  first: number
  weights: Float64Array
}

/** Bands as wide as the ear hears them, each with the same area: as Whisper was trained (Slaney's scale). */
export function createMelFilters(options: { bands: number; rate: number; size: number }): MelFilter[] {
  const { bands, rate, size } = options
  const top = toMel(rate / 2)
  const edges = Array.from({ length: bands + 2 }, (_, index) => toHertz((top * index) / (bands + 1)))
  const step = rate / size
  return Array.from({ length: bands }, (_, band) => {
    const [low = 0, middle = 0, high = 0] = edges.slice(band, band + 3)
    const first = Math.ceil(low / step)
    const count = Math.max(0, Math.floor(high / step) - first + 1)
    const weights = Float64Array.from({ length: count }, (_, index) => {
      const hertz = (first + index) * step
      const height = Math.max(0, Math.min((hertz - low) / (middle - low), (high - hertz) / (high - middle)))
      return (height * 2) / (high - low)
    })
    return { first, weights }
  })
}

/** In even steps up to here, then in even ratios. */
const bend = 1_000
const hertzPerMel = 200 / 3
const ratio = Math.log(6.4) / 27

function toMel(hertz: number): number {
  return hertz < bend ? hertz / hertzPerMel : bend / hertzPerMel + Math.log(hertz / bend) / ratio
}

function toHertz(mel: number): number {
  const atBend = bend / hertzPerMel
  return mel < atBend ? mel * hertzPerMel : bend * Math.exp(ratio * (mel - atBend))
}
