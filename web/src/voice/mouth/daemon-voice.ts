import { send } from '../../api/ask.ts'
import type { SpeakingVoice } from './mouth.ts'

/** The daemon makes the sound, of which the page plays one sentence after the other. */
export function createDaemonVoice(name: string | null, rate: () => number): SpeakingVoice {
  return {
    async prepare(text, signal) {
      const response = await send('/api/v1/voice/speak', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ text, ...(name !== null && { voice: name }) }),
        signal,
      })
      const sound = await response.blob()
      return { play: (stop) => play(sound, rate(), stop) }
    },
  }
}

async function play(sound: Blob, rate: number, signal: AbortSignal): Promise<void> {
  const address = URL.createObjectURL(sound)
  const audio = new Audio(address)
  audio.playbackRate = rate
  try {
    await new Promise<void>((resolve, reject) => {
      if (signal.aborted) return resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
      audio.onended = () => resolve()
      audio.onerror = () => reject(new Error('The browser could not play the voice.'))
      audio.play().catch(reject)
    })
  } finally {
    audio.pause()
    URL.revokeObjectURL(address)
  }
}
