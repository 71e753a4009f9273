import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { findProgram } from '../../base/processes.ts'
import { type AllowedHost, portOf } from '../../security/network/destinations.ts'
import type { GuardedFetch } from '../../security/network/guarded-fetch.ts'
import type { LocalVoice } from './local-voice.ts'
import type { Machine } from './phonemize.ts'
import { kindOfRecording, maxSeconds, readWav, secondsOf } from './recordings.ts'
import { fetchProblem, type Transcription } from './speech.ts'
import { hasSpeech } from './speech-gate.ts'
import { whisperNames } from './voice-parts.ts'

export interface TranscriptionSettings {
  /** `auto`: the model on this machine if there is one. */
  provider: 'auto' | 'local' | 'openai-compatible' | 'off'
  baseUrl: string | null
  apiKey: string | null
  /** Of the service, or of this machine. */
  model: string | null
}

interface TranscriberNeeds extends Machine {
  /** Read at every use, so that a reload takes effect at once. */
  settings: () => TranscriptionSettings
  local: LocalVoice
  /** A guarded fetch that also reaches these hosts of the owner's network. */
  fetchReaching: (hosts: readonly AllowedHost[]) => GuardedFetch
  clock: Clock
  logger: Logger
}

const off = 'Transcription is switched off: provider = "off" in [voice.transcription] of familiar.toml.'
const notInstalled = 'No transcription model is installed. To get one: familiar voice install --transcription'

/** `model` is the one that the settings name. */
function hintFor(model: string | null): string {
  if (model === null) return notInstalled
  const isKnown = whisperNames.some((name) => name === model)
  if (!isKnown) return `model = "${model}" in [voice.transcription] is unknown: use ${whisperNames.join(', ')}.`
  return `The transcription model ${model} is not installed. To get it: familiar voice install --model ${model}`
}

interface Recording {
  data: Uint8Array
  mediaType: string
  /** The expected language ("de"), if it is known. */
  language?: string | null
  signal: AbortSignal
}

export type Transcriber = ReturnType<typeof createTranscriber>

export function createTranscriber(needs: TranscriberNeeds) {
  const { settings, local, fetchReaching, clock, logger } = needs

  /** The transcriber in use; null if there is none, with a hint. */
  function status(): { by: string } | { by: null; hint: string } {
    const { provider, model } = settings()
    if (provider === 'off') return { by: null, hint: off }
    if (provider === 'openai-compatible') return { by: model ?? provider }
    const found = local.transcriptionModel()
    return found === undefined ? { by: null, hint: hintFor(model) } : { by: found }
  }

  async function byModelHere({ data, language = null, signal }: Recording): Promise<Transcription> {
    const readable = kindOfRecording(data) === 'other' ? await convertRecording(needs, { data, signal }) : data
    // If ffmpeg could not read it, it is passed on unchanged: the reader reports the supported formats.
    return await local.transcribe(readable ?? data, { language, signal })
  }

  async function byService(recording: Recording): Promise<Transcription> {
    const { baseUrl, apiKey, model } = settings()
    if (baseUrl === null || model === null) {
      return { ok: false, reason: 'base_url and model are needed in [voice.transcription].' }
    }
    const sound = kindOfRecording(recording.data) === 'wav' ? readWav(recording.data) : undefined
    if (sound?.ok && !hasSpeech(sound.sound)) return { ok: true, text: '', by: model, seconds: secondsOf(sound.sound) }
    const url = new URL(baseUrl)
    const fetch = fetchReaching([{ host: url.hostname, port: portOf(url) }])
    return await transcribeByService({ fetch, baseUrl, apiKey, model }, recording)
  }

  return {
    status,
    /** Loads the model, so that the first recording does not wait for it. */
    async warm(signal: AbortSignal): Promise<void> {
      const { provider } = settings()
      const isHere = provider === 'auto' || provider === 'local'
      if (isHere) await local.warm({ speech: false, transcription: true }, signal)
    },
    /** Never throws because of a recording's content: unreadable or too long ones are returned as failures. */
    async transcribe(recording: Recording): Promise<Transcription> {
      const able = status()
      if (able.by === null) return { ok: false, reason: able.hint }
      const startedAt = clock.now()
      const work = settings().provider === 'openai-compatible' ? byService : byModelHere
      const transcription = await work(recording)
      const { ok } = transcription
      const ms = clock.now() - startedAt
      logger.info('transcribed a recording', { by: able.by, ok, bytes: recording.data.length, ms })
      return transcription
    },
    close: () => local.close(),
  }
}

const limits = { wallMs: 60_000, outputBytes: 40 * 1024 * 1024 }

/**
 * Converts any recording to WAV by the user's ffmpeg; undefined if there is none, or if it cannot read it. It reads
 * only from a pipe: a file that names other files or addresses gets none of them.
 */
export async function convertRecording(
  machine: Machine,
  { data, signal }: Pick<Recording, 'data' | 'signal'>,
): Promise<Uint8Array | undefined> {
  const program = await findProgram(['ffmpeg'], machine.searchPath)
  if (program === undefined) return undefined
  const { end, stdout } = await machine.runChild({
    argv: [
      program,
      ...['-hide_banner', '-loglevel', 'error', '-nostdin'],
      // An M4A may have its index at the end: this allows seeking in the pipe.
      ...['-protocol_whitelist', 'cache,pipe', '-i', 'cache:pipe:0'],
      ...['-vn', '-t', String(maxSeconds + 1), '-ac', '1', '-ar', '16000', '-f', 'wav', 'pipe:1'],
    ],
    environment: { PATH: machine.searchPath },
    workingDirectory: '/',
    stdin: data,
    limits,
    signal,
  })
  return end.kind === 'exited' && end.code === 0 && stdout.length > 44 ? stdout : undefined
}

/** Services recognize the type of a recording by its file name. */
const endings: Readonly<Record<string, string>> = {
  'audio/ogg': 'ogg',
  'audio/opus': 'ogg',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/m4a': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/webm': 'webm',
  'audio/flac': 'flac',
}

/** `POST {base}/audio/transcriptions`, as in OpenAI's API and most servers. */
async function transcribeByService(
  service: { fetch: GuardedFetch; baseUrl: string; apiKey: string | null; model: string },
  { data, mediaType, signal }: Recording,
): Promise<Transcription> {
  const { fetch, baseUrl, apiKey, model } = service
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const boundary = `familiar-${randomUUID()}`
  const { host } = new URL(baseUrl)
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/audio/transcriptions`, {
      method: 'POST',
      headers: {
        'content-type': `multipart/form-data; boundary=${boundary}`,
        accept: 'application/json',
        ...(apiKey && { authorization: `Bearer ${apiKey}` }),
      },
      body: formOf({ boundary, model, file: { name: `voice.${endings[type] ?? 'wav'}`, type: knownType(type), data } }),
      signal,
    })
    const text = await response.text()
    // Its error text is dropped: it is untrusted, and this is read by a model.
    if (!response.ok) return failed(`${host} did not transcribe it (${response.status}).`)
    const parsed = parseJson(text, answerSchema)
    if (!parsed.ok) return failed(`${host} sent no text.`)
    return { ok: true, text: parsed.value.text.trim(), by: model }
  } catch (error) {
    return failed(fetchProblem(error, { host, signal }).reason)
  }
}

function failed(reason: string): Transcription {
  return { ok: false, reason, fault: 'service' }
}

const answerSchema = z.object({ text: z.string() })

/** Header values are ours, whatever the sender declared. */
function knownType(type: string): string {
  return type in endings ? type : 'application/octet-stream'
}

function formOf(form: {
  boundary: string
  model: string
  file: { name: string; type: string; data: Uint8Array }
}): Uint8Array<ArrayBuffer> {
  const { boundary, model, file } = form
  const field = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const head =
    field('model', model) +
    field('response_format', 'json') +
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${file.name}"\r\n` +
    `content-type: ${file.type}\r\n\r\n`
  return Uint8Array.from(Buffer.concat([Buffer.from(head), file.data, Buffer.from(`\r\n--${boundary}--\r\n`)]))
}
