import type { Sound } from './heard.ts'

/** How many zero crossings of the ideal filter are kept on each side. */
const reach = 24
/** A little below half the rate, so that what is let through and what is not have room between them. */
const passed = 0.94

/** The same sound at another rate, by a sinc under a window: nothing above the new rate's reach is folded back. */
export function resample({ samples, rate }: Sound, wanted: number): Sound {
  if (rate === wanted) return { samples, rate }
  const divisor = greatestDivisor(rate, wanted)
  const up = wanted / divisor
  const down = rate / divisor
  const cutoff = passed * Math.min(1, wanted / rate)
  const half = Math.ceil(reach / cutoff)
  // The places between two samples repeat after `up` of them, and so do the weights.
  const weights: Float32Array[] = []
  const output = new Float32Array(Math.floor((samples.length * up) / down))
  for (let index = 0; index < output.length; index += 1) {
    const phase = (index * down) % up
    const center = (index * down - phase) / up
    weights[phase] ??= weightsAt(phase / up, { half, cutoff })
    output[index] = weighted(samples, center - half + 1, weights[phase])
  }
  return { samples: output, rate: wanted }
}

function weighted(samples: Float32Array, from: number, weights: Float32Array): number {
  let sum = 0
  const begin = Math.max(0, -from)
  const end = Math.min(weights.length, samples.length - from)
  for (let tap = begin; tap < end; tap += 1) sum += (samples[from + tap] ?? 0) * (weights[tap] ?? 0)
  return sum
}

function weightsAt(offset: number, { half, cutoff }: { half: number; cutoff: number }): Float32Array {
  const weights = Float32Array.from({ length: half * 2 }, (_, tap) => {
    const distance = tap - half + 1 - offset
    const x = Math.PI * distance * cutoff
    const sinc = distance === 0 ? 1 : Math.sin(x) / x
    const share = distance / half
    // Blackman's window.
    return sinc * (0.42 + 0.5 * Math.cos(Math.PI * share) + 0.08 * Math.cos(2 * Math.PI * share))
  })
  // A steady level stays what it was.
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}
