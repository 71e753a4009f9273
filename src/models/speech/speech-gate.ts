import type { Sound } from './recordings.ts'

/**
 * Whether a recording can contain speech. A transcription model writes words for anything that it is given ("you" for
 * silence, a sentence for a fan), so that only recordings with signs of a voice may reach it. In doubt the answer is yes.
 */
export function hasSpeech({ samples, rate }: Sound): boolean {
  const frames = framesOf(samples, rate)
  const floor = noiseFloor(frames)
  const isActive = (frame: Frame) => frame.level > Math.max(quietest, floor * aboveFloor)
  const active = frames.filter(isActive)
  if (active.length * stepSeconds < shortestSeconds) return false
  if (isSteady(active)) return false
  if (voicedRun(frames, isActive) * stepSeconds >= shortestVoice) return true
  // A whisper has no pitch, but the rhythm of syllables, which neither noise nor a cough has.
  return burstsOf(frames.map(isActive)) >= whisperBursts
}

interface Frame {
  /** Root mean square. */
  level: number
  /** How periodic it is at the pitch of a voice, up to 1. */
  voicing: number
  /** The length of that period in samples. */
  period: number
}

const stepSeconds = 0.02
/** About -50 dB of full scale. */
const quietest = 0.003
const aboveFloor = 2.5
const shortestSeconds = 0.1
const voicedFrom = 0.6
/** A vowel; noise is periodic by chance only for shorter. */
const shortestVoice = 0.08
/** Of a pitch, from one step to the next. */
const largestChange = 1.25
const octaveTolerance = 1.1
const whisperBursts = 4
/** A key or a click is shorter than a syllable. */
const shortestBurst = 3

/** The rate at which the pitch is measured: voices are far below, and it is cheap. */
const pitchRate = 4_000
const lowestPitch = 70
const highestPitch = 400
const windowSeconds = 0.04

function framesOf(samples: Float32Array, rate: number): Frame[] {
  // Without most of what makes the vowels differ.
  const slow = smoothed(smoothed(averaged(samples, rate)))
  const step = Math.round(pitchRate * stepSeconds)
  const window = Math.round(pitchRate * windowSeconds)
  const frames: Frame[] = []
  for (let from = 0; from + step <= slow.length; from += step) {
    const whole = samples.subarray(
      Math.round((from / pitchRate) * rate),
      Math.round(((from + step) / pitchRate) * rate),
    )
    const level = Math.sqrt(whole.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, whole.length))
    frames.push({ level, ...(level < quietest ? { voicing: 0, period: 0 } : periodicity(slow, from, window)) })
  }
  return frames
}

/** Each sample is the mean of those that it replaces. */
function averaged(samples: Float32Array, rate: number): Float32Array {
  const ratio = Math.max(1, rate / pitchRate)
  return Float32Array.from({ length: Math.floor(samples.length / ratio) }, (_, index) => {
    const from = Math.floor(index * ratio)
    const until = Math.max(from + 1, Math.floor((index + 1) * ratio))
    let sum = 0
    for (let at = from; at < until; at += 1) sum += samples[at] ?? 0
    return sum / (until - from)
  })
}

function smoothed(samples: Float32Array): Float32Array {
  return samples.map((sample, at) => ((samples[at - 1] ?? 0) + sample + (samples[at + 1] ?? 0)) / 3)
}

/** The highest normalized autocorrelation of a window with the one a pitch period later. */
function periodicity(samples: Float32Array, from: number, window: number): Pick<Frame, 'voicing' | 'period'> {
  const best = { voicing: 0, period: 0 }
  const longest = Math.round(pitchRate / lowestPitch)
  for (let lag = Math.round(pitchRate / highestPitch); lag <= longest; lag += 1) {
    if (from + window + lag > samples.length) break
    let product = 0
    let one = 0
    let other = 0
    for (let at = from; at < from + window; at += 1) {
      const a = samples[at] ?? 0
      const b = samples[at + lag] ?? 0
      product += a * b
      one += a * a
      other += b * b
    }
    const voicing = product / Math.sqrt(Math.max(1e-12, one * other))
    if (voicing > best.voicing) Object.assign(best, { voicing, period: lag })
  }
  return best
}

/** The level of the quietest tenth; not more than a third of the loud parts, for recordings without a pause. */
function noiseFloor(frames: readonly Frame[]): number {
  const levels = frames.map(({ level }) => level).toSorted((a, b) => a - b)
  return Math.min(levels[Math.floor(levels.length * 0.1)] ?? 0, (levels[Math.floor(levels.length * 0.9)] ?? 0) / 3)
}

/** A hum, a fan or a tone: speech never stays within two decibels for half a second. */
function isSteady(active: readonly Frame[]): boolean {
  if (active.length * stepSeconds < 0.5) return false
  const levels = active.map(({ level }) => level).toSorted((a, b) => a - b)
  const middle = levels[Math.floor(levels.length / 2)] ?? 0
  const near = levels.filter((level) => level > middle * 0.7 && level < middle * 1.4).length
  return near / levels.length > 0.85
}

/** The most frames in a row that are voiced at a pitch that moves as a voice does. */
function voicedRun(frames: readonly Frame[], isActive: (frame: Frame) => boolean): number {
  let longest = 0
  let run = 0
  let last: Frame | undefined
  for (const frame of frames) {
    const isVoiced = isActive(frame) && frame.voicing > voicedFrom
    const change = last === undefined ? Number.POSITIVE_INFINITY : ratioOf(frame.period, last.period)
    // Twice the period fits as well.
    const isNear = change < largestChange || ratioOf(change, 2) < octaveTolerance
    run = isVoiced ? (isNear ? run + 1 : 1) : 0
    last = isVoiced ? frame : undefined
    longest = Math.max(longest, run)
  }
  return longest
}

function ratioOf(a: number, b: number): number {
  return Math.max(a, b) / Math.max(1, Math.min(a, b))
}

/** Sounds of at least the length of a syllable, with silence between them. */
function burstsOf(isActive: readonly boolean[]): number {
  let bursts = 0
  let run = 0
  for (const active of isActive) {
    run = active ? run + 1 : 0
    if (run === shortestBurst) bursts += 1
  }
  return bursts
}
