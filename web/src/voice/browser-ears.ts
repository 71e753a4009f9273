import { t } from '../strings/strings.ts'
import { findRecognizer, type RecognitionEvent } from './recorded-ears.ts'
import { VoiceFailure, type VoiceProblem } from './voice-problem.tsx'
import type { VoiceMode } from './voice-state.ts'

/** A source of recognized speech. */
export interface Ears {
  /** Ends the recording and transcribes it as one utterance. */
  finish(): void
  /** Releases the microphone at once. No further events follow. */
  close(): void
  /** Familiar is speaking: recognized words may be its own. */
  setGuarded(isGuarded: boolean): void
  /** Nothing that is heard counts. */
  setMuted(isMuted: boolean): void
}

export interface EarsListener {
  onSpeech(): void
  /** Understood so far; may change. */
  onWords(words: string): void
  onPause(): void
  /** Empty where nothing was understood. */
  onUtterance(text: string): void
  onLevel(level: number): void
  onProblem(problem: VoiceProblem): void
}

/** Resolves once it listens; rejects with a `VoiceFailure` or an error of the browser. Aborting closes it. */
export type OpenEars = (mode: VoiceMode, listener: EarsListener, signal: AbortSignal) => Promise<Ears>

/** Whether the recognized text is only an echo of the spoken reply: speakers are near microphones. */
export function isEcho(heard: string, said: string): boolean {
  const words = wordsIn(heard)
  if (words.length === 0) return true
  const known = new Set(wordsIn(said))
  const same = words.filter((word) => known.has(word)).length
  // One word is too little to decide: "stop" may be part of the spoken reply.
  return words.length > 2 && same / words.length >= 0.8
}

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

/** Before it listens again. */
const pauseMs = 200

/** Uses the speech recognition of the browser. `said` is the last spoken text. */
export function createBrowserEars({ language, said }: { language(): string; said(): string }): OpenEars {
  return (mode, listener, signal) =>
    new Promise((resolve, reject) => {
      const Recognizing = findRecognizer()
      if (!Recognizing) return reject(new VoiceFailure({ kind: 'unable', detail: t.voice.browserNoSpeechRecognition }))
      const recognizer = new Recognizing()
      recognizer.lang = language()
      recognizer.continuous = true
      recognizer.interimResults = true
      let isOpen = false
      let isClosed = false
      let isFinishing = false
      let isGuarded = false
      let isMuted = false
      /** The listener knows of speech, and not yet of its end. */
      let isHearing = false
      let understood = ''
      /** Includes interim results: some browsers end without a final one. */
      let words = ''

      function end(text: string): void {
        isHearing = false
        listener.onUtterance(text)
      }

      function close(): void {
        isClosed = true
        recognizer.abort()
      }
      signal.addEventListener('abort', close, { once: true })

      recognizer.onstart = () => {
        if (isClosed || isOpen) return
        isOpen = true
        resolve({
          finish() {
            isFinishing = true
            recognizer.stop()
          },
          close,
          setGuarded(guarded) {
            isGuarded = guarded
          },
          setMuted(muted) {
            isMuted = muted
          },
        })
      }
      // Noise and Familiar's own voice start like this too: while it speaks, only other words count.
      recognizer.onspeechstart = () => {
        if (isClosed || isGuarded || isMuted) return
        isHearing = true
        listener.onSpeech()
      }
      recognizer.onresult = (event) => {
        const { whole, part } = wordsOf(event)
        const news = `${whole} ${part}`.trim()
        if (isClosed || isMuted || news === '') return
        if (isGuarded && isEcho(news, said())) {
          // The reply waits for the end.
          if (isHearing && whole.trim() !== '') end('')
          return
        }
        if (mode === 'hold') {
          understood = `${understood} ${whole}`.trim()
          words = `${understood} ${part}`.trim()
          listener.onWords(words)
        } else if (whole.trim() !== '') end(whole.trim())
        else {
          isHearing = true
          listener.onWords(news)
        }
      }
      recognizer.onerror = ({ error, message }) => {
        if (isClosed || error === 'no-speech' || error === 'aborted') return
        close()
        void tell(error, message)
      }
      async function tell(error: string, message: string | undefined): Promise<void> {
        const problem = error === 'audio-capture' ? await microphoneProblem() : problemOf(error, message)
        if (!isOpen) reject(new VoiceFailure(problem))
        else if (!signal.aborted) listener.onProblem(problem)
      }
      recognizer.onend = () => {
        if (isClosed) return
        if (isFinishing) return listener.onUtterance(words)
        // It ends after a period of silence without a recognized word.
        if (isOpen && mode === 'hands_free') end('')
        setTimeout(() => !isClosed && recognizer.start(), pauseMs)
      }
      recognizer.start()
    })
}

function wordsOf({ results, resultIndex }: RecognitionEvent): { whole: string; part: string } {
  let whole = ''
  let part = ''
  for (let index = resultIndex; index < results.length; index += 1) {
    const result = results[index]
    const words = result?.[0]?.transcript ?? ''
    if (result?.isFinal) whole += words
    else part += words
  }
  return { whole, part }
}

function problemOf(error: string, message: string | undefined): VoiceProblem {
  switch (error) {
    case 'not-allowed':
      return { kind: 'refused', detail: '' }
    case 'network':
    case 'service-not-allowed':
    case 'language-not-supported':
      return { kind: 'unreached', detail: error }
    default:
      return { kind: 'failed', detail: message || t.voice.browsersSpeechRecognitionFailed(error) }
  }
}

/** The recognition reports only that it gets no sound; the browser can list microphones without permission. */
async function microphoneProblem(): Promise<VoiceProblem> {
  const devices = (await navigator.mediaDevices?.enumerateDevices().catch(() => [])) ?? []
  const isThere = devices.some(({ kind }) => kind === 'audioinput')
  return { kind: isThere ? 'microphone_taken' : 'no_microphone', detail: '' }
}
