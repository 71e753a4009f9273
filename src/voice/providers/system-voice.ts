import { findProgram } from '../../base/find-program.ts'
import type { Machine } from '../kokoro/phonemize.ts'
import { type SpeechRequest, type Spoken, unspoken } from '../speaker.ts'

/** How each program is told to write a WAV file of what it reads on standard input to standard output. */
const programs: Record<string, (program: string, voice: string | null) => [string, ...string[]]> = {
  'espeak-ng': (program, voice) => [program, '--stdin', '--stdout', ...(voice ? ['-v', voice] : [])],
  espeak: (program, voice) => [program, '--stdin', '--stdout', ...(voice ? ['-v', voice] : [])],
  // It writes to files alone.
  say: (program, voice) => [
    '/bin/sh',
    '-c',
    'd=$(mktemp -d) && "$@" -o "$d/said.wav" && cat "$d/said.wav"; status=$?; rm -rf "$d"; exit $status',
    'sh',
    ...[program, '--file-format=WAVE', '--data-format=LEI16@22050', '-f', '-'],
    ...(voice ? ['-v', voice] : []),
  ],
}

export const noSystemVoice =
  'This machine has no voice. The user can install one (Debian, Ubuntu: sudo apt-get install espeak-ng; macOS has ' +
  '"say"), or set provider = "elevenlabs" and api_key_env under [tools.tts] in familiar.toml.'

const limits = { wallMs: 60_000, outputBytes: 50 * 1024 * 1024 }

/** The program that would speak; undefined where the system has none. */
export async function findSystemVoice({ searchPath }: Machine): Promise<{ name: string; path: string } | undefined> {
  for (const name of Object.keys(programs)) {
    const path = await findProgram([name], searchPath)
    if (path !== undefined) return { name, path }
  }
  return undefined
}

/** The voice that the system brings. The text goes in by standard input: nothing in it can be taken for an option. */
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
    return unspoken(`${found.name} could not say it${voice ? `: it may not know the voice ${voice}` : ''}.`)
  }
  return { ok: true, recording: { data: outcome.stdout, mediaType: 'audio/wav', extension: 'wav' }, by: found.name }
}
