import type { SpeakingVoice } from './mouth.ts'

/** Those that speak on this machine come first; the others send the text to their maker. */
export function browserVoices(): SpeechSynthesisVoice[] {
  if (!('speechSynthesis' in globalThis)) return []
  return speechSynthesis.getVoices().toSorted((one, other) => Number(other.localService) - Number(one.localService))
}

/** Browsers read their list of voices when they are first asked, and say when they have it. */
export function onBrowserVoices(listener: () => void): () => void {
  if (!('speechSynthesis' in globalThis)) return () => undefined
  speechSynthesis.addEventListener('voiceschanged', listener)
  return () => speechSynthesis.removeEventListener('voiceschanged', listener)
}

export function createBrowserVoice(voice: SpeechSynthesisVoice, rate: () => number): SpeakingVoice {
  return {
    async prepare(text) {
      return {
        play: (signal) =>
          new Promise((resolve, reject) => {
            const utterance = new SpeechSynthesisUtterance(text)
            utterance.voice = voice
            utterance.lang = voice.lang
            utterance.rate = rate()
            const cut = () => {
              speechSynthesis.cancel()
              resolve()
            }
            if (signal.aborted) return resolve()
            signal.addEventListener('abort', cut, { once: true })
            utterance.onend = () => {
              signal.removeEventListener('abort', cut)
              resolve()
            }
            utterance.onerror = ({ error }) => {
              signal.removeEventListener('abort', cut)
              if (error === 'canceled' || error === 'interrupted') resolve()
              else reject(new Error(`The voice of the browser failed (${error}).`))
            }
            speechSynthesis.speak(utterance)
          }),
      }
    },
  }
}
