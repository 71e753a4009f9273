import type { Clock } from '../base/clock.ts'
import { createAskedChild } from './child/asked-child.ts'
import { startVoiceChild } from './child/start-voice-child.ts'
import { createInstalledParts } from './files/installed-parts.ts'
import { kokoroVoices, usualVoice } from './files/kokoro-voices.ts'
import { findEspeak, type Machine, noEspeak, phonemize } from './kokoro/phonemize.ts'
import { type SpeechRequest, type Spoken, unspoken } from './speaker.ts'
import type { Transcription } from './transcriber.ts'

/** The models that `familiar voice install` has put on this machine, each in a process of its own while it is used. */
export interface LocalVoice {
  canTranscribe(): boolean
  /** Only WAV and OGG with Opus: who has others makes WAV of them. */
  transcribe(data: Uint8Array, signal: AbortSignal): Promise<Transcription>
  /** Null where it can speak; otherwise what is missing. */
  whyNotSpeak(): Promise<string | null>
  speak(request: SpeechRequest): Promise<Spoken>
  close(): Promise<void>
}

/** `folder` holds the voice files; it need not exist. */
export function createLocalVoice(options: Machine & { folder: string; clock: Clock }): LocalVoice {
  const { folder, clock } = options
  const isInstalled = createInstalledParts(folder, clock)
  const listener = createAskedChild({ start: startVoiceChild('transcription', folder), clock })
  const speaker = createAskedChild({ start: startVoiceChild('speech', folder), clock })

  async function whyNotSpeak(): Promise<string | null> {
    if (!isInstalled('kokoro-82m')) return noLocalVoice
    return (await findEspeak(options)) === undefined ? noEspeak : null
  }

  return {
    canTranscribe: () => isInstalled('whisper-tiny'),
    async transcribe(data, signal) {
      const answer = await listener.ask({ type: 'transcribe', recording: data }, signal)
      if (answer.type === 'transcribed') {
        return { ok: true, text: answer.text, by: transcriptionModel, seconds: answer.seconds }
      }
      return { ok: false, reason: answer.type === 'failed' ? answer.reason : 'The model gave no text.' }
    },
    whyNotSpeak,
    async speak({ text, voice: wanted, signal }) {
      const missing = await whyNotSpeak()
      if (missing !== null) return unspoken(missing)
      const voice = wanted ?? usualVoice
      if (!Object.hasOwn(kokoroVoices, voice)) {
        return unspoken(`There is no voice "${voice}" on this machine: familiar voice status lists them.`)
      }
      const phonemes = await phonemize(options, { text, voice, signal })
      if (!phonemes.ok) return unspoken(phonemes.reason)
      if (phonemes.sentences.length === 0) return unspoken('There is nothing in the text that could be said.')
      const answer = await speaker.ask({ type: 'speak', sentences: phonemes.sentences, voice }, signal)
      if (answer.type !== 'spoken') {
        return unspoken(answer.type === 'failed' ? answer.reason : 'The model gave no sound.')
      }
      return { ok: true, recording: { data: answer.wav, mediaType: 'audio/wav', extension: 'wav' }, by: speechModel }
    },
    async close() {
      await Promise.all([listener.close(), speaker.close()])
    },
  }
}

export const noLocalVoice = 'There is no voice model on this machine. To get one: familiar voice install --speech'
export const transcriptionModel = 'whisper-tiny'
export const speechModel = 'kokoro-82m'
