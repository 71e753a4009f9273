import { VoiceFailure, type VoiceProblem } from '../voice-problem.ts'
import type { OpenEars } from './ears.ts'
import { isEcho } from './is-echo.ts'
import { findRecogniser, type RecognitionEvent } from './recogniser.ts'

/** Before it listens again. */
const pauseMs = 200

/** Understands by what the browser has for it. `said` is what was said aloud here last. */
export function createBrowserEars({ language, said }: { language(): string; said(): string }): OpenEars {
  return (mode, listener, signal) =>
    new Promise((resolve, reject) => {
      const Recognising = findRecogniser()
      if (!Recognising)
        return reject(new VoiceFailure({ kind: 'unable', detail: 'This browser understands no speech.' }))
      const recogniser = new Recognising()
      recogniser.lang = language()
      recogniser.continuous = true
      recogniser.interimResults = true
      let isOpen = false
      let isClosed = false
      let isFinishing = false
      let isGuarded = false
      let understood = ''
      /** With what may still change: some browsers end without saying it for good. */
      let words = ''

      function close(): void {
        isClosed = true
        recogniser.abort()
      }
      signal.addEventListener('abort', close, { once: true })

      recogniser.onstart = () => {
        if (isClosed || isOpen) return
        isOpen = true
        resolve({
          finish() {
            isFinishing = true
            recogniser.stop()
          },
          close,
          setGuarded(guarded) {
            isGuarded = guarded
          },
        })
      }
      // Noise and the voice of Familiar itself begin so too: only words that are not its own count while it speaks.
      recogniser.onspeechstart = () => !isClosed && !isGuarded && listener.onSpeech()
      recogniser.onresult = (event) => {
        const { whole, part } = wordsOf(event)
        const news = `${whole} ${part}`.trim()
        if (isClosed || news === '' || (isGuarded && isEcho(news, said()))) return
        if (mode === 'hold') {
          understood = `${understood} ${whole}`.trim()
          words = `${understood} ${part}`.trim()
          listener.onWords(words)
        } else if (whole.trim() !== '') listener.onUtterance(whole.trim())
        else listener.onWords(news)
      }
      recogniser.onerror = ({ error, message }) => {
        if (isClosed || error === 'no-speech' || error === 'aborted') return
        close()
        void tell(error, message)
      }
      async function tell(error: string, message: string | undefined): Promise<void> {
        const problem = error === 'audio-capture' ? await microphoneProblem() : problemOf(error, message)
        if (!isOpen) reject(new VoiceFailure(problem))
        else if (!signal.aborted) listener.onProblem(problem)
      }
      recogniser.onend = () => {
        if (isClosed) return
        if (isFinishing) return listener.onUtterance(words)
        // It ends by itself after a while of silence; what it had heard until then was no word.
        if (isOpen && mode === 'hands_free') listener.onUtterance('')
        setTimeout(() => !isClosed && recogniser.start(), pauseMs)
      }
      recogniser.start()
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
      return { kind: 'failed', detail: message || `The browser’s speech recognition failed (${error}).` }
  }
}

/** The recognition says only that it gets no sound; whether there is a microphone at all the browser tells without being allowed it. */
async function microphoneProblem(): Promise<VoiceProblem> {
  const devices = (await navigator.mediaDevices?.enumerateDevices().catch(() => [])) ?? []
  const isThere = devices.some(({ kind }) => kind === 'audioinput')
  return { kind: isThere ? 'microphone_taken' : 'no_microphone', detail: '' }
}
