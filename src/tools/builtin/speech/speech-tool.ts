import { z } from 'zod'
import type { RunChild } from '../../../base/run-child.ts'
import { defineTool, failed } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import { allowedHostOf, type Fetches } from '../fetches.ts'
import type { PutMedia } from '../put-media.ts'
import { elevenLabsOrigin, speakByElevenLabs } from './elevenlabs.ts'
import { speakBySystem } from './system-voice.ts'

export interface SpeechSettings {
  provider: 'system' | 'local' | 'elevenlabs' | 'off'
  apiKey: string | null
  voice: string | null
}

export interface SpeechNeeds {
  settings: () => SpeechSettings
  fetches: Fetches
  runChild: RunChild
  putMedia: PutMedia
  /** Where programs are looked for. */
  searchPath: string
  /** Another server that speaks the language of ElevenLabs. */
  elevenLabs?: string
}

export function createSpeechTool(needs: SpeechNeeds): Tool {
  const { settings, fetches, putMedia, elevenLabs = elevenLabsOrigin } = needs
  return defineTool({
    name: 'tts',
    description: 'Say a text aloud: makes a sound file for the user.',
    input: z.object({ text: z.string().trim().min(1).max(5_000) }),
    effect: 'at-least-once',
    reach() {
      const destination = speechDestination(settings(), elevenLabs)
      return { kind: destination === null ? 'reads' : 'acts', destination }
    },
    async run({ text }, { signal }) {
      const { provider, apiKey, voice } = settings()
      if (provider === 'off')
        return failed('Speech is switched off: familiar.toml has provider = "off" in [tools.tts].')
      const request = { text, voice, signal }
      const fetch = fetches.reaching([allowedHostOf(new URL(elevenLabs))])
      const spoken =
        provider === 'elevenlabs'
          ? await speakByElevenLabs({ fetch, apiKey, origin: elevenLabs }, request)
          : await speakBySystem(needs, request)
      if (!spoken.ok) return spoken.outcome
      const { data, mediaType, extension } = spoken.recording
      const part = await putMedia({ name: `speech.${extension}`, mediaType, data })
      return { text: `Said; the user has the recording (${data.length} bytes).`, isError: false, media: [part] }
    },
  })
}

/** Where texts go to be said. The owner has named the service in the config, so it counts as declared. */
export function speechDestination({ provider }: SpeechSettings, origin = elevenLabsOrigin): string | null {
  return provider === 'elevenlabs' ? origin : null
}
