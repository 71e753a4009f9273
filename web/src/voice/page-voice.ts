import type { VoiceReply } from '../../../src/protocol/voice-api.ts'
import { ask } from '../api/ask.ts'
import { chooseEars, chooseVoice } from './choose-voice.ts'
import { createBrowserEars } from './ears/browser-ears.ts'
import type { OpenEars } from './ears/ears.ts'
import { findRecogniser } from './ears/recogniser.ts'
import { openRecordedEars } from './ears/recorded-ears.ts'
import { browserVoices, createBrowserVoice } from './mouth/browser-voice.ts'
import { createDaemonVoice } from './mouth/daemon-voice.ts'
import { createMouth, type Mouth, type SpeakingVoice } from './mouth/mouth.ts'
import { takeSentences } from './mouth/sentences.ts'
import { VoiceFailure } from './voice-problem.ts'
import { voiceSettings } from './voice-settings.ts'

/** Told what went wrong with speaking; the page shows it. */
let showFailure: (error: unknown) => void = () => undefined
export function onSpeakingFailure(show: (error: unknown) => void): void {
  showFailure = show
}

let known: Promise<VoiceReply> | undefined

/** What the daemon can do. Asked again as long as something is missing: it may have been installed meanwhile. */
export function daemonVoice(): Promise<VoiceReply> {
  known ??= ask<VoiceReply>('/voice').then(
    (reply) => {
      if (reply.speech.by === null || reply.transcription.by === null) known = undefined
      return reply
    },
    (error: unknown) => {
      known = undefined
      throw error
    },
  )
  return known
}

export const spokenLanguage = () => voiceSettings().language ?? navigator.language

async function speakingVoice(): Promise<SpeakingVoice> {
  const settings = { ...voiceSettings(), language: spokenLanguage() }
  const { speech } = await daemonVoice()
  const found = chooseVoice(settings, { voices: browserVoices(), daemon: speech })
  if (!found.ok) throw new VoiceFailure(found.problem)
  const rate = () => voiceSettings().rate
  return found.chosen.by === 'browser'
    ? createBrowserVoice(found.chosen.voice, rate)
    : createDaemonVoice(found.chosen.name, rate)
}

export const mouth: Mouth = createMouth({ voice: speakingVoice, onFailure: (error) => showFailure(error) })

const openBrowserEars = createBrowserEars({ language: spokenLanguage, said: mouth.recent })

export const openEars: OpenEars = async (mode, listener, signal) => {
  const { transcription } = await daemonVoice()
  signal.throwIfAborted()
  const found = chooseEars(voiceSettings(), { hasRecogniser: findRecogniser() !== undefined, daemon: transcription })
  if (!found.ok) throw new VoiceFailure(found.problem)
  return found.chosen === 'browser' ? openBrowserEars(mode, listener, signal) : openRecordedEars(mode, listener, signal)
}

/** A whole text, in place of what is being said. */
export function readAloud(text: string, owner: string): void {
  mouth.cut()
  for (const sentence of takeSentences(text).sentences) mouth.say(sentence, owner)
}
