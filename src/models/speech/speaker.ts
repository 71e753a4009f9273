import { findProgram } from '../../base/processes.ts'
import { type AllowedHost, portOf } from '../../security/network/destinations.ts'
import { type GuardedFetch, stayAtOrigin } from '../../security/network/guarded-fetch.ts'
import { type LocalVoice, noLocalVoice, speechModel } from './local-voice.ts'
import type { Machine } from './phonemize.ts'
import {
  fetchProblem,
  languageCode,
  languageName,
  type SpeechRequest,
  type SpeechSettings,
  type Spoken,
  unspoken,
} from './speech.ts'
import { kokoroVoices } from './voice-parts.ts'

interface SpeakerNeeds extends Machine {
  /** Read at every use, so that a reload takes effect at once. */
  settings: () => SpeechSettings
  local: Pick<LocalVoice, 'speak' | 'speaks' | 'warm' | 'whyNotSpeak'> | null
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
    /** Loads what speaks, so that the first sentence does not wait for it. */
    async warm(signal: AbortSignal): Promise<void> {
      if (settings().provider === 'local') await local?.warm({ speech: true, transcription: false }, signal)
    },
    /** The origin that texts are sent to; null if they stay on this machine. */
    destination: () => speechDestination(settings(), elevenLabs),
    /**
     * If `voice` is null, that of the settings. The language is that of the text, or the given one if the text is too short to
     * tell. Throws only the signal's reason.
     */
    async speak({ voice, language: expected = null, ...rest }: SpeechRequest): Promise<Spoken> {
      const { provider, apiKey, voice: usual } = settings()
      if (provider === 'off') return unspoken(off)
      const language = await languageOfText(rest.text, expected)
      const request = { ...rest, voice: voice ?? usual, language }
      switch (provider) {
        case 'elevenlabs': {
          const url = new URL(elevenLabs)
          const fetch = fetchReaching([{ host: url.hostname, port: portOf(url) }])
          return await speakByElevenLabs({ fetch, apiKey, origin: elevenLabs }, request)
        }
        case 'local': {
          if (!local) return unspoken(noLocalVoice)
          if (language === null || local.speaks(language)) return await local.speak(request)
          const spoken = await speakBySystem(needs, { ...request, voice: null })
          if (!spoken.ok) return spoken
          const name = languageName(language)
          return { ...spoken, notice: `${speechModel} has no voice for ${name}. ${spoken.by} speaks it.` }
        }
        case 'system':
          return await speakBySystem(needs, request)
      }
    },
  }
}

/** A shorter text is often mistaken. */
const tellingLetters = 12

/** The language of a text; `expected` where the text does not show it. Null if it is unknown. */
async function languageOfText(text: string, expected: string | null): Promise<string | null> {
  const hint = languageCode(expected)
  if ((text.match(/\p{L}/gu)?.length ?? 0) < tellingLetters) return hint
  const { eld } = await import('eld/small')
  const found = eld.detect(text)
  return found.isReliable() ? languageCode(found.language) : hint
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

type Command = [string, ...string[]]

interface SystemProgram {
  /** Reads text from standard input and writes WAV to standard output. */
  command(program: string, voice: string | null): Command
  /** Lists its voices, optionally only those of a language. */
  list(program: string, language: string): Command
  /** The voice of a language in the list. */
  find(list: string, language: string): string | undefined
}

const espeak: SystemProgram = {
  command: (program, voice) => [program, '--stdin', '--stdout', ...(voice ? ['-v', voice] : [])],
  list: (program, language) => [program, `--voices=${language}`],
  // The first line has the names of the columns.
  find: (list, language) => (list.trim().split('\n').length > 1 ? language : undefined),
}

const programs: Record<string, SystemProgram> = {
  'espeak-ng': espeak,
  espeak,
  say: {
    // It can only write to files.
    command: (program, voice) => [
      '/bin/sh',
      '-c',
      'd=$(mktemp -d) && "$@" -o "$d/said.wav" && cat "$d/said.wav"; status=$?; rm -rf "$d"; exit $status',
      'sh',
      ...[program, '--file-format=WAVE', '--data-format=LEI16@22050', '-f', '-'],
      ...(voice ? ['-v', voice] : []),
    ],
    list: (program) => [program, '-v', '?'],
    find(list, language) {
      const lines = list.split('\n').map((line) => /^(\S.*?)\s+([a-z]{2,3})[_-]\S+\s+#/.exec(line))
      return lines.find((parts) => parts?.[2] === language)?.[1]
    },
  },
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

/**
 * The system's voice. The text is passed by standard input, so it cannot act as an option. A voice of another language is
 * replaced by one of the text's language.
 */
export async function speakBySystem(machine: Machine, request: SpeechRequest): Promise<Spoken> {
  const { text, language = null, signal } = request
  const found = await findSystemVoice(machine)
  const program = found && programs[found.name]
  if (!program) return unspoken(noSystemVoice)
  const run = (argv: Command, stdin: string) =>
    machine.runChild({
      argv,
      environment: { PATH: machine.searchPath, LANG: 'C.UTF-8' },
      workingDirectory: '/',
      stdin: Buffer.from(stdin),
      limits,
      signal,
    })
  const voice = await voiceFor(request.voice, language)
  if (voice === undefined) {
    return unspoken(`${found.name} has no voice for ${languageName(language ?? '')}. The text was not spoken.`)
  }
  const outcome = await run(program.command(found.path, voice), text)
  const isSound = Buffer.from(outcome.stdout.subarray(0, 4)).toString() === 'RIFF'
  if (outcome.end.kind !== 'exited' || outcome.end.code !== 0 || !isSound) {
    return unspoken(`${found.name} could not speak the text${voice ? `: it may not know the voice ${voice}` : ''}.`)
  }
  return { ok: true, recording: { data: outcome.stdout, mediaType: 'audio/wav', extension: 'wav' }, by: found.name }

  /** Undefined if there is none for this language. */
  async function voiceFor(wanted: string | null, spoken: string | null): Promise<string | null | undefined> {
    // Without a voice the programs speak English, or the language of the system.
    if (spoken === null || (wanted === null && spoken === 'en') || languageCode(wanted) === spoken) return wanted
    if (!program || !found) return undefined
    const { stdout } = await run(program.list(found.path, spoken), '')
    const known = program.find(Buffer.from(stdout).toString('utf8'), spoken)
    // A voice with a name may be of any language.
    return known ?? (wanted !== null && languageCode(wanted) === null ? wanted : undefined)
  }
}
