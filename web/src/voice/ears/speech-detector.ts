export interface SpeechDetector {
  /** One frame of `frameLength` samples. */
  push(frame: Float32Array): 'began' | 'ended' | undefined
  isSpeaking(): boolean
  /** While something is said aloud here, only what is clearly louder counts. */
  setGuarded(isGuarded: boolean): void
}

/** Of 16,000 samples a second: 32 ms. */
export const frameLength = 512

const quietest = 0.01
const beginFrames = 4
const guardedBeginFrames = 8
const endFrames = 25

/**
 * Tells speech from silence by loudness alone: what is well above the noise of the room, for longer than a click, until it has been
 * quiet for most of a second. The noise is learned from what is not speech, quickly when it falls and slowly when it rises.
 */
export function createSpeechDetector(): SpeechDetector {
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
        run = level < threshold * 0.6 ? run + 1 : 0
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
    setGuarded(guarded) {
      isGuarded = guarded
    },
  }
}

export function loudness(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length))
}
