export const heardRate = 16_000

/**
 * Sound of any rate as sound of 16,000 samples a second, piece by piece. Each sample is the mean of those that it stands for, which
 * keeps most of what is too high for the new rate from turning into noise.
 */
export function createResampler(rate: number): (samples: Float32Array) => Float32Array {
  const step = rate / heardRate
  let rest = new Float32Array()
  /** Where the next sample begins, counted from the beginning of the rest. */
  let place = 0
  return (samples) => {
    const input = new Float32Array(rest.length + samples.length)
    input.set(rest)
    input.set(samples, rest.length)
    const output: number[] = []
    while (place + Math.max(step, 1) <= input.length) {
      output.push(meanOf(input, place, place + step))
      place += step
    }
    const used = Math.floor(place)
    rest = input.slice(used)
    place -= used
    return Float32Array.from(output)
  }
}

function meanOf(input: Float32Array, from: number, to: number): number {
  const first = Math.floor(from)
  const last = Math.max(first + 1, Math.floor(to))
  let sum = 0
  for (let index = first; index < last; index += 1) sum += input[index] ?? 0
  return sum / (last - first)
}
