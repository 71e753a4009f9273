import type { AllowedHost } from '../egress/destination.ts'
import type { GuardedFetch } from '../egress/guarded-fetch.ts'
import { portOf } from '../egress/host-pattern.ts'
import { kokoroVoices } from './files/kokoro-voices.ts'
import type { Machine } from './kokoro/phonemize.ts'
import { type LocalVoice, noLocalVoice, speechModel } from './local-voice.ts'
import { elevenLabsOrigin, noElevenLabsKey, speakByElevenLabs } from './providers/elevenlabs.ts'
import { findSystemVoice, noSystemVoice, speakBySystem } from './providers/system-voice.ts'
import { type Speaker, type SpeechSettings, unspoken } from './speaker.ts'

export interface SpeakerNeeds extends Machine {
  /** Read at every use, so that a reload takes effect at once. */
  settings: () => SpeechSettings
  /** Null where there can be none. */
  local: Pick<LocalVoice, 'speak' | 'whyNotSpeak'> | null
  /** A guarded fetch that also reaches these hosts of the owner's network. */
  fetchReaching: (hosts: readonly AllowedHost[]) => GuardedFetch
  /** Another server that speaks the language of ElevenLabs. */
  elevenLabs?: string
}

const off = 'Speech is switched off: familiar.toml has provider = "off" in [tools.tts].'

export function createSpeaker(needs: SpeakerNeeds): Speaker {
  const { settings, local, fetchReaching, elevenLabs = elevenLabsOrigin } = needs
  return {
    async status() {
      const { provider, apiKey } = settings()
      switch (provider) {
        case 'off':
          return { by: null, hint: off }
        case 'elevenlabs':
          return apiKey ? { by: provider, voices: [] } : { by: null, hint: noElevenLabsKey }
        case 'local': {
          const missing = local ? await local.whyNotSpeak() : noLocalVoice
          return missing === null ? { by: speechModel, voices: Object.keys(kokoroVoices) } : { by: null, hint: missing }
        }
        case 'system': {
          const found = await findSystemVoice(needs)
          return found ? { by: found.name, voices: [] } : { by: null, hint: noSystemVoice }
        }
      }
    },
    destination: () => speechDestination(settings(), elevenLabs),
    async speak({ voice, ...rest }) {
      const { provider, apiKey, voice: usual } = settings()
      const request = { ...rest, voice: voice ?? usual }
      switch (provider) {
        case 'off':
          return unspoken(off)
        case 'elevenlabs': {
          const url = new URL(elevenLabs)
          const fetch = fetchReaching([{ host: url.hostname, port: portOf(url) }])
          return await speakByElevenLabs({ fetch, apiKey, origin: elevenLabs }, request)
        }
        case 'local':
          return local ? await local.speak(request) : unspoken(noLocalVoice)
        case 'system':
          return await speakBySystem(needs, request)
      }
    },
  }
}

/** Where texts go to be said. The owner has named the service in the config, so it counts as declared. */
export function speechDestination({ provider }: SpeechSettings, origin = elevenLabsOrigin): string | null {
  return provider === 'elevenlabs' ? origin : null
}
