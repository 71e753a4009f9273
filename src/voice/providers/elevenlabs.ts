import type { GuardedFetch } from '../../egress/guarded-fetch.ts'
import { type SpeechRequest, type Spoken, unspoken } from '../speaker.ts'
import { fetchProblem } from './fetch-problem.ts'

export const elevenLabsOrigin = 'https://api.elevenlabs.io'
export const noElevenLabsKey = 'ElevenLabs has no key: set the variable that api_key_env names under [tools.tts].'

const model = 'eleven_multilingual_v2'
const format = 'mp3_44100_128'
/** A voice that every account has ("George"). */
const usualVoice = 'JBFqnCBsd6RMkjVDRZzb'

/** A voice of ElevenLabs. */
export async function speakByElevenLabs(
  service: { fetch: GuardedFetch; apiKey: string | null; origin: string },
  { text, voice, signal }: SpeechRequest,
): Promise<Spoken> {
  const { fetch, apiKey, origin } = service
  if (!apiKey) return unspoken(noElevenLabsKey, 'service')
  const url = `${origin}/v1/text-to-speech/${encodeURIComponent(voice ?? usualVoice)}?output_format=${format}`
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'audio/mpeg', 'xi-api-key': apiKey },
      body: JSON.stringify({ text, model_id: model }),
      signal,
    })
    if (!response.ok) {
      await response.body?.cancel()
      return unspoken(describeStatus(response.status), 'service')
    }
    const data = new Uint8Array(await response.arrayBuffer())
    if (data.length === 0 || !response.headers.get('content-type')?.startsWith('audio/')) {
      return unspoken('ElevenLabs sent no sound.', 'service')
    }
    return { ok: true, recording: { data, mediaType: 'audio/mpeg', extension: 'mp3' }, by: 'elevenlabs' }
  } catch (error) {
    const { reason, fault } = fetchProblem(error, { host: new URL(origin).host, signal })
    return unspoken(reason, fault)
  }
}

function describeStatus(status: number): string {
  if (status === 401) return 'ElevenLabs refused the key, or its quota is used up (401).'
  if (status === 404 || status === 422)
    return `ElevenLabs does not know this voice, or cannot say this text (${status}).`
  if (status === 429) return 'ElevenLabs takes no more for now (429).'
  return status >= 500 ? `ElevenLabs is out of order (${status}).` : `ElevenLabs refused (${status}).`
}
