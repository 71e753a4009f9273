interface SpeechDetector {
  /** One frame of `frameLength` samples. */
  push(frame: Float32Array): 'began' | 'paused' | 'continued' | 'ended' | undefined
  isSpeaking(): boolean
  clear(): void
  /** While a reply is spoken, only clearly louder sound counts. */
  setGuarded(isGuarded: boolean): void
}

/** Of 16,000 samples a second: 32 ms. */
const frameLength = 512

const quietest = 0.01
const beginFrames = 4
const guardedBeginFrames = 8
/** 0.7 s. */
const endFrames = 22
/** 0.3 s: enough to begin the transcription, in case the user has finished. */
const pauseFrames = 10

/**
 * Detects speech by loudness: sound well above the noise of the room, for longer than a click, until it has been quiet for most of
 * a second. The noise level is measured outside of speech, and follows a fall quickly and a rise slowly.
 */
function createSpeechDetector(): SpeechDetector {
  let noise = quietest / 3
  let isGuarded = false
  let isSpeaking = false
  /** Loud frames before speech; quiet ones within it. */
  let run = 0
  return {
    push(frame) {
      const level = loudness(frame)
      const threshold = Math.max(quietest, noise * 3) * (isGuarded ? 2 : 1)
      if (isSpeaking) {
        const wasPaused = run >= pauseFrames
        run = level < threshold * 0.6 ? run + 1 : 0
        if (run === 0) return wasPaused ? 'continued' : undefined
        if (run === pauseFrames) return 'paused'
        if (run < endFrames) return undefined
        isSpeaking = false
        run = 0
        return 'ended'
      }
      noise += (level - noise) * (level < noise ? 0.2 : level < threshold ? 0.02 : 0.002)
      run = level > threshold ? run + 1 : Math.max(0, run - 2)
      if (run < (isGuarded ? guardedBeginFrames : beginFrames)) return undefined
      isSpeaking = true
      run = 0
      return 'began'
    },
    isSpeaking: () => isSpeaking,
    clear() {
      isSpeaking = false
      run = 0
    },
    setGuarded(guarded) {
      isGuarded = guarded
    },
  }
}

function loudness(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length))
}

interface Utterances {
  push(samples: Float32Array): void
  /** The sound since the last complete utterance; undefined when there was no speech. */
  finish(): Float32Array | undefined
  isSpeaking(): boolean
  /** Drops what was heard so far. */
  clear(): void
  setGuarded(isGuarded: boolean): void
}

interface UtteranceListener {
  onBegin(): void
  /** Perhaps the end. `samples` is everything so far. */
  onPause(samples: Float32Array): void
  /** It was not the end. */
  onContinue(): void
  onEnd(samples: Float32Array): void
  /** How loud it is, 0 to 1. */
  onLevel(level: number): void
}

/** A word starts before it is loud. */
const framesBefore = 12
/** Two minutes. Longer speech is transcribed in pieces. */
const maxFrames = 3_750

/**
 * Cuts the sound of a microphone into utterances. With `isWhole` nothing is cut: all of it counts until it is finished, as
 * where a button is held.
 */
export function createUtterances(isWhole: boolean, listener: UtteranceListener): Utterances {
  const detector = createSpeechDetector()
  let kept: Float32Array[] = []
  let rest = new Float32Array()
  let hasSpeech = false

  function take(): Float32Array {
    const samples = joined(kept)
    kept = []
    // Speech that is cut here continues in the next piece.
    hasSpeech = detector.isSpeaking()
    return samples
  }

  function pushFrame(frame: Float32Array): void {
    listener.onLevel(Math.min(1, loudness(frame) * 8))
    kept.push(frame)
    const change = detector.push(frame)
    if (change === 'began') {
      hasSpeech = true
      listener.onBegin()
    }
    if (change === 'paused') listener.onPause(joined(kept))
    if (change === 'continued') listener.onContinue()
    if (isWhole) return
    const isOver = change === 'ended' || (hasSpeech && kept.length >= maxFrames)
    if (isOver) listener.onEnd(take())
    else if (!hasSpeech && kept.length > framesBefore) kept.shift()
  }

  return {
    push(samples) {
      const all = joined([rest, samples])
      let place = 0
      for (; place + frameLength <= all.length; place += frameLength) pushFrame(all.slice(place, place + frameLength))
      rest = all.slice(place)
    },
    finish() {
      const spoke = hasSpeech
      const samples = take()
      return spoke ? samples : undefined
    },
    isSpeaking: detector.isSpeaking,
    clear() {
      detector.clear()
      take()
    },
    setGuarded: (isGuarded) => detector.setGuarded(isGuarded),
  }
}

function joined(pieces: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const all = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let place = 0
  for (const piece of pieces) {
    all.set(piece, place)
    place += piece.length
  }
  return all
}

export const heardRate = 16_000

/**
 * Sound of any rate as sound of 16,000 samples a second, piece by piece. Each sample is the mean of the samples that it replaces, which
 * removes most frequencies that are too high for the new rate.
 */
export function createResampler(rate: number): (samples: Float32Array) => Float32Array {
  const step = rate / heardRate
  let rest = new Float32Array()
  /** The offset of the next sample in the rest. */
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

const headerBytes = 44

/** Sound of one channel as a file that every listener can read. */
export function toWav(samples: Float32Array, rate: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(headerBytes + samples.length * 2))
  const write = (place: number, word: string) => {
    for (const [index, letter] of [...word].entries()) view.setUint8(place + index, letter.charCodeAt(0))
  }
  write(0, 'RIFF')
  view.setUint32(4, view.byteLength - 8, true)
  write(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  write(36, 'data')
  view.setUint32(40, samples.length * 2, true)
  for (const [index, sample] of samples.entries()) {
    view.setInt16(headerBytes + index * 2, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true)
  }
  return new Uint8Array(view.buffer)
}
