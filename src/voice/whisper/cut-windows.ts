import { whisperRate, windowSeconds } from './mel-features.ts'

const longest = whisperRate * windowSeconds
/** Where in a window a quiet place to cut is looked for. */
const searched = whisperRate * 6
const step = whisperRate / 10

/** Pieces of 30 seconds at most, cut where it is quietest, so that no word is cut in two. */
export function cutWindows(samples: Float32Array): Float32Array[] {
  const windows: Float32Array[] = []
  let from = 0
  while (samples.length - from > longest) {
    const until = quietest(samples, from + longest - searched, from + longest)
    windows.push(samples.subarray(from, until))
    from = until
  }
  return [...windows, samples.subarray(from)]
}

/** The middle of the quietest tenth of a second. */
function quietest(samples: Float32Array, from: number, until: number): number {
  let best = until
  let lowest = Number.POSITIVE_INFINITY
  for (let at = from; at + step <= until; at += step) {
    const energy = samples.subarray(at, at + step).reduce((sum, sample) => sum + sample * sample, 0)
    // The latest of equals: longer windows are fewer.
    if (energy <= lowest) {
      lowest = energy
      best = at + step / 2
    }
  }
  return best
}
