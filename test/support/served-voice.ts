import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createRunChild } from '../../src/base/processes.ts'
import { createLocalVoice } from '../../src/models/speech/local-voice.ts'
import type { Speaker } from '../../src/models/speech/speaker.ts'
import { createSpeaker } from '../../src/models/speech/speaker.ts'
import type { SpeechSettings } from '../../src/models/speech/speech.ts'
import type { Transcriber } from '../../src/models/speech/transcriber.ts'
import { createTranscriber, type TranscriptionSettings } from '../../src/models/speech/transcriber.ts'
import type { AllowedHost } from '../../src/security/network/destinations.ts'
import { createGuardedFetch } from '../../src/security/network/guarded-fetch.ts'

export interface ServedVoice {
  speaker: Speaker
  transcriber: Transcriber
}

/** Voice from its own parts; switched off where nothing else is said, and without models where no folder is named. */
export function createServedVoice(
  options: {
    speech?: Partial<SpeechSettings>
    transcription?: Partial<TranscriptionSettings>
    folder?: string
    searchPath?: string
    elevenLabs?: string
  } = {},
): ServedVoice {
  const clock = systemClock()
  const machine = { runChild: createRunChild({ clock }), searchPath: options.searchPath ?? '/usr/bin:/bin' }
  const local = createLocalVoice({ ...machine, folder: options.folder ?? '/nowhere', clock })
  const needs = {
    ...machine,
    local,
    fetchReaching: (allowedHosts: readonly AllowedHost[]) => createGuardedFetch({ allowedHosts }),
  }
  const speech: SpeechSettings = { provider: 'off', apiKey: null, voice: null, ...options.speech }
  const transcription: TranscriptionSettings = {
    provider: 'off',
    baseUrl: null,
    apiKey: null,
    model: null,
    ...options.transcription,
  }
  return {
    speaker: createSpeaker({
      ...needs,
      settings: () => speech,
      ...(options.elevenLabs !== undefined && { elevenLabs: options.elevenLabs }),
    }),
    transcriber: createTranscriber({ ...needs, settings: () => transcription, clock, logger: silentLogger }),
  }
}
