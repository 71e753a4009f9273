import { z } from 'zod'
import type { Speaker } from '../../../voice/speaker.ts'
import { defineTool, failed } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import type { PutMedia } from '../put-media.ts'

export interface SpeechNeeds {
  speaker: Pick<Speaker, 'speak' | 'destination'>
  putMedia: PutMedia
}

export function createSpeechTool({ speaker, putMedia }: SpeechNeeds): Tool {
  return defineTool({
    name: 'tts',
    description: 'Say a text aloud: makes a sound file for the user.',
    input: z.object({ text: z.string().trim().min(1).max(5_000) }),
    effect: 'at-least-once',
    reach() {
      const destination = speaker.destination()
      return { kind: destination === null ? 'reads' : 'acts', destination }
    },
    async run({ text }, { signal }) {
      const spoken = await speaker.speak({ text, voice: null, signal })
      if (!spoken.ok) {
        const { reason, fault } = spoken
        return {
          ...failed(reason),
          ...(fault !== null && { serviceFailed: true }),
          ...(fault === 'timeout' && { timedOut: true }),
        }
      }
      const { data, mediaType, extension } = spoken.recording
      const part = await putMedia({ name: `speech.${extension}`, mediaType, data })
      return { text: `Said; the user has the recording (${data.length} bytes).`, isError: false, media: [part] }
    },
  })
}
