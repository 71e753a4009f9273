import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { AllowedHost } from '../egress/destination.ts'
import type { GuardedFetch } from '../egress/guarded-fetch.ts'
import { portOf } from '../egress/host-pattern.ts'
import { kindOfRecording } from './audio/read-recording.ts'
import type { Machine } from './kokoro/phonemize.ts'
import { type LocalVoice, transcriptionModel } from './local-voice.ts'
import { convertRecording } from './providers/convert-recording.ts'
import { transcribeByService } from './providers/openai-transcription.ts'
import type { Transcriber, Transcription } from './transcriber.ts'

export interface TranscriptionSettings {
  /** `auto`: the model on this machine where there is one. */
  provider: 'auto' | 'local' | 'openai-compatible' | 'off'
  baseUrl: string | null
  apiKey: string | null
  model: string | null
}

export interface TranscriberNeeds extends Machine {
  /** Read at every use, so that a reload takes effect at once. */
  settings: () => TranscriptionSettings
  local: LocalVoice
  /** A guarded fetch that also reaches these hosts of the owner's network. */
  fetchReaching: (hosts: readonly AllowedHost[]) => GuardedFetch
  clock: Clock
  logger: Logger
}

const off = 'Writing down speech is switched off: provider = "off" in [voice.transcription] of familiar.toml.'
const notInstalled = 'No model for writing down speech is installed. To get one: familiar voice install --transcription'

type Recording = Parameters<Transcriber['transcribe']>[0]

export function createTranscriber(needs: TranscriberNeeds): Transcriber {
  const { settings, local, fetchReaching, clock, logger } = needs

  function status(): ReturnType<Transcriber['status']> {
    const { provider, model } = settings()
    if (provider === 'off') return { by: null, hint: off }
    if (provider === 'openai-compatible') return { by: model ?? provider }
    return local.canTranscribe() ? { by: transcriptionModel } : { by: null, hint: notInstalled }
  }

  async function byModelHere({ data, signal }: Recording): Promise<Transcription> {
    const readable = kindOfRecording(data) === 'other' ? await convertRecording(needs, { data, signal }) : data
    // What ffmpeg could not read goes as it is: whoever reads it says what can be read.
    return await local.transcribe(readable ?? data, signal)
  }

  async function byService(recording: Recording): Promise<Transcription> {
    const { baseUrl, apiKey, model } = settings()
    if (baseUrl === null || model === null) {
      return { ok: false, reason: 'base_url and model are needed in [voice.transcription].' }
    }
    const url = new URL(baseUrl)
    const fetch = fetchReaching([{ host: url.hostname, port: portOf(url) }])
    return await transcribeByService({ fetch, baseUrl, apiKey, model }, recording)
  }

  return {
    status,
    async transcribe(recording) {
      const able = status()
      if (able.by === null) return { ok: false, reason: able.hint }
      const startedAt = clock.now()
      const work = settings().provider === 'openai-compatible' ? byService : byModelHere
      const transcription = await work(recording)
      const { ok } = transcription
      logger.info('a recording was listened to', {
        by: able.by,
        ok,
        bytes: recording.data.length,
        ms: clock.now() - startedAt,
      })
      return transcription
    },
    close: () => local.close(),
  }
}
