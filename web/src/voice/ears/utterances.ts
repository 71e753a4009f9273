import { createSpeechDetector, frameLength, loudness } from './speech-detector.ts'

export interface Utterances {
  push(samples: Float32Array): void
  /** What came since the last whole one; undefined where nobody spoke. */
  finish(): Float32Array | undefined
  setGuarded(isGuarded: boolean): void
}

export interface UtteranceListener {
  onBegin(): void
  onEnd(samples: Float32Array): void
  /** How loud it is, 0 to 1. */
  onLevel(level: number): void
}

/** A word begins before it is loud. */
const framesBefore = 12
/** Two minutes; whoever speaks longer is written down in pieces. */
const mostFrames = 3_750

/**
 * Cuts what a microphone hears into what somebody says. With `isWhole` nothing is cut: all of it counts until it is finished, as
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
    // Whoever is cut off in the middle goes on.
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
    if (isWhole) return
    const isOver = change === 'ended' || (hasSpeech && kept.length >= mostFrames)
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
