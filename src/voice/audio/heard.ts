/** Sound as one channel of samples from -1 to 1. */
export interface Sound {
  samples: Float32Array
  /** Samples a second. */
  rate: number
}

/** What a recording holds, or why it cannot be read, in words for the user. */
export type Heard = { ok: true; sound: Sound } | { ok: false; reason: string }

/** Longer recordings are not taken: whoever sends an hour would have the machine busy for as long. */
export const longestSeconds = 10 * 60

export function secondsOf({ samples, rate }: Sound): number {
  return samples.length / rate
}

export function tooLong(): { ok: false; reason: string } {
  return { ok: false, reason: `The recording is longer than ${longestSeconds / 60} minutes.` }
}

export function unreadable(reason: string): { ok: false; reason: string } {
  return { ok: false, reason }
}
