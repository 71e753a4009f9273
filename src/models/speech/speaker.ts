import { findProgram } from '../../base/processes.ts'
import { type AllowedHost, portOf } from '../../security/network/destinations.ts'
import { type GuardedFetch, stayAtOrigin } from '../../security/network/guarded-fetch.ts'
import { type LocalVoice, noLocalVoice, speechModel } from './local-voice.ts'
import type { Machine } from './phonemize.ts'
import { fetchProblem, type SpeechRequest, type SpeechSettings, type Spoken, unspoken } from './speech.ts'
import { kokoroVoices } from './voice-parts.ts'

interface SpeakerNeeds extends Machine {
  /** Read at every use, so that a reload takes effect at once. */
  settings: () => SpeechSettings
  local: Pick<LocalVoice, 'speak' | 'whyNotSpeak'> | null
  /** A guarded fetch that also reaches these hosts of the owner's network. */
  fetchReaching: (hosts: readonly AllowedHost[]) => GuardedFetch
  /** The address of another ElevenLabs-compatible server. */
  elevenLabs?: string
}

const off = 'Speech is switched off: familiar.toml has provider = "off" in [tools.tts].'

export type Speaker = ReturnType<typeof createSpeaker>

export function createSpeaker(needs: SpeakerNeeds) {
  const { settings, local, fetchReaching, elevenLabs = elevenLabsOrigin } = needs
  return {
    /** The speaker in use; null if there is none, with a hint. */
    async status(): Promise<{ by: string; voices: readonly string[] } | { by: null; hint: string }> {
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
    /** The origin that texts are sent to; null if they stay on this machine. */
    destination: () => speechDestination(settings(), elevenLabs),
    /** If `voice` is null, that of the settings. Throws only the signal's reason. */
    async speak({ voice, ...rest }: SpeechRequest): Promise<Spoken> {
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

/** The destination of texts. The owner configured the service, so it counts as declared. */
export function speechDestination({ provider }: SpeechSettings, origin = elevenLabsOrigin): string | null {
  return provider === 'elevenlabs' ? origin : null
}

const elevenLabsOrigin = 'https://api.elevenlabs.io'
const noElevenLabsKey = 'ElevenLabs has no key: set the variable that api_key_env names under [tools.tts].'

const model = 'eleven_multilingual_v2'
const format = 'mp3_44100_128'
/** A voice that every account has ("George"). */
const usualVoice = 'JBFqnCBsd6RMkjVDRZzb'

async function speakByElevenLabs(
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
      onRedirect: stayAtOrigin,
    })
    if (!response.ok) {
      await response.body?.cancel()
      return unspoken(describeStatus(response.status), 'service')
    }
    const data = new Uint8Array(await response.arrayBuffer())
    if (data.length === 0 || !response.headers.get('content-type')?.startsWith('audio/')) {
      return unspoken('ElevenLabs sent no audio.', 'service')
    }
    return { ok: true, recording: { data, mediaType: 'audio/mpeg', extension: 'mp3' }, by: 'elevenlabs' }
  } catch (error) {
    const { reason, fault } = fetchProblem(error, { host: new URL(origin).host, signal })
    return unspoken(reason, fault)
  }
}

function describeStatus(status: number): string {
  if (status === 401) return 'ElevenLabs rejected the key, or its quota is used up (401).'
  if (status === 404 || status === 422)
    return `ElevenLabs does not know this voice, or cannot speak this text (${status}).`
  if (status === 429) return 'ElevenLabs rate limit reached (429).'
  return status >= 500 ? `ElevenLabs is unavailable (${status}).` : `ElevenLabs rejected the request (${status}).`
}

/** Each program's arguments for reading text from standard input and writing WAV to standard output. */
const programs: Record<string, (program: string, voice: string | null) => [string, ...string[]]> = {
  'espeak-ng': (program, voice) => [program, '--stdin', '--stdout', ...(voice ? ['-v', voice] : [])],
  espeak: (program, voice) => [program, '--stdin', '--stdout', ...(voice ? ['-v', voice] : [])],
  // It can only write to files.
  say: (program, voice) => [
    '/bin/sh',
    '-c',
    'd=$(mktemp -d) && "$@" -o "$d/said.wav" && cat "$d/said.wav"; status=$?; rm -rf "$d"; exit $status',
    'sh',
    ...[program, '--file-format=WAVE', '--data-format=LEI16@22050', '-f', '-'],
    ...(voice ? ['-v', voice] : []),
  ],
}

const noSystemVoice =
  'This machine has no voice. The user can install one (Debian, Ubuntu: sudo apt-get install espeak-ng; macOS has ' +
  '"say"), or set provider = "elevenlabs" and api_key_env under [tools.tts] in familiar.toml.'

const limits = { wallMs: 60_000, outputBytes: 50 * 1024 * 1024 }

async function findSystemVoice({ searchPath }: Machine): Promise<{ name: string; path: string } | undefined> {
  for (const name of Object.keys(programs)) {
    const path = await findProgram([name], searchPath)
    if (path !== undefined) return { name, path }
  }
  return undefined
}

/** The system's voice. The text is passed by standard input, so it cannot act as an option. */
export async function speakBySystem(machine: Machine, { text, voice, signal }: SpeechRequest): Promise<Spoken> {
  const found = await findSystemVoice(machine)
  const command = found && programs[found.name]
  if (!command) return unspoken(noSystemVoice)
  const outcome = await machine.runChild({
    argv: command(found.path, voice),
    environment: { PATH: machine.searchPath, LANG: 'C.UTF-8' },
    workingDirectory: '/',
    stdin: Buffer.from(text),
    limits,
    signal,
  })
  const isSound = Buffer.from(outcome.stdout.subarray(0, 4)).toString() === 'RIFF'
  if (outcome.end.kind !== 'exited' || outcome.end.code !== 0 || !isSound) {
    return unspoken(`${found.name} could not speak the text${voice ? `: it may not know the voice ${voice}` : ''}.`)
  }
  return { ok: true, recording: { data: outcome.stdout, mediaType: 'audio/wav', extension: 'wav' }, by: found.name }
}
