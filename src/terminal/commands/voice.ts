import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join, resolve } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { writeFileAtomically } from '../../base/files.ts'
import { silentLogger } from '../../base/logger.ts'
import { createRunChild, findProgram } from '../../base/processes.ts'
import { formatProblems } from '../../daemon/config/config.ts'
import { loadConfig } from '../../daemon/config/load-config.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { createLocalVoice } from '../../models/speech/local-voice.ts'
import type { Speaker } from '../../models/speech/speaker.ts'
import { createSpeaker } from '../../models/speech/speaker.ts'
import type { SpeechSettings } from '../../models/speech/speech.ts'
import type { Transcriber } from '../../models/speech/transcriber.ts'
import { createTranscriber } from '../../models/speech/transcriber.ts'
import { createInstalledParts, kokoroVoices, voiceParts } from '../../models/speech/voice-parts.ts'
import type { AllowedHost } from '../../security/network/destinations.ts'
import { createGuardedFetch, type GuardedFetch } from '../../security/network/guarded-fetch.ts'
import {
  type CommandContext,
  CommandError,
  type CommandHandler,
  exitCodes,
  isConfirmed,
  textOrInput,
} from '../command.ts'
import { definedVariables, requireConfig, runProgram } from '../local-home.ts'
import { runnableHere } from '../output.ts'
import { writeSetting } from './config.ts'

const mediaTypes: Readonly<Record<string, string>> = {
  '.wav': 'audio/wav',
  '.ogg': 'audio/ogg',
  '.oga': 'audio/ogg',
  '.opus': 'audio/ogg',
  '.mp3': 'audio/mpeg',
  '.m4a': 'audio/mp4',
  '.webm': 'audio/webm',
  '.flac': 'audio/flac',
}

export const transcribeFile: CommandHandler<{ file: string }> = async (context, input) => {
  const { output, signal } = context
  const data = await readFile(input.file).catch((cause: NodeJS.ErrnoException) => {
    throw new CommandError(`${input.file} cannot be read (${cause.code}).`, { code: 'not_found' })
  })
  const mediaType = mediaTypes[extname(input.file).toLowerCase()] ?? 'application/octet-stream'
  const transcription = await withVoice(context, {}, ({ transcriber }) =>
    transcriber.transcribe({ data, mediaType, signal }),
  )
  if (!transcription.ok) throw new CommandError(transcription.reason, { code: 'unavailable' })
  const { text, by, seconds } = transcription
  return output.report(input.json, { text, by, seconds: seconds ?? null }, () =>
    text === '' ? output.note('No speech found.') : text,
  )
}

/** Speech with the configuration of this home, in this process. `speech` overrides the configuration. */
export async function withVoice<T>(
  { homePath, env }: CommandContext,
  speech: Partial<SpeechSettings>,
  work: (voice: { speaker: Speaker; transcriber: Transcriber }) => Promise<T>,
): Promise<T> {
  const loaded = loadConfig({ home: homePath, env })
  if (!loaded.ok) {
    const lines = formatProblems(loaded.problems, homePath).map((line) => `  ${line}`)
    throw new CommandError(['The configuration has problems:', ...lines].join('\n'), { code: 'config' })
  }
  const { config, environment } = loaded
  const clock = systemClock()
  const machine = {
    runChild: createRunChild({ clock }),
    searchPath: environment.PATH ?? '/usr/local/bin:/usr/bin:/bin',
  }
  const local = createLocalVoice({
    ...machine,
    folder: homePaths(homePath).voice,
    clock,
    transcriptionModel: () => config.voice.transcription.model,
  })
  const opened: GuardedFetch[] = []
  const fetchReaching = (allowedHosts: readonly AllowedHost[]) => {
    const fetch = createGuardedFetch({ allowedHosts })
    opened.push(fetch)
    return fetch
  }
  const needs = { ...machine, local, fetchReaching }
  try {
    return await work({
      speaker: createSpeaker({ ...needs, settings: () => ({ ...config.tools.tts, ...speech }) }),
      transcriber: createTranscriber({
        ...needs,
        settings: () => config.voice.transcription,
        clock,
        logger: silentLogger,
      }),
    })
  } finally {
    await local.close()
    for (const fetch of opened) await fetch.close()
  }
}

/** A running Familiar notices within seconds; a model in use finishes its work. */
export const removeVoice: CommandHandler<{ yes?: boolean }> = async (context, input) => {
  const { homePath, output } = context
  const directory = homePaths(homePath).voice
  const wasThere = existsSync(directory)
  const question = `Remove ${directory} with all voice models?`
  if (wasThere && !(await isConfirmed(context, input, question))) return exitCodes.failed
  await rm(directory, { recursive: true, force: true })
  const { config } = requireConfig(context)
  if (wasThere && config.tools.tts.provider === 'local') {
    await writeSetting(context, ['tools', 'tts', 'provider'], ['system'])
  }
  return output.report(
    input.json,
    { directory, removed: wasThere },
    wasThere ? `Removed ${directory}.` : 'Nothing to remove.',
  )
}

interface SayInput {
  text: string
  out?: string
  voice?: string
  local?: boolean
  yes?: boolean
}

/** Plays it, or writes it to a file. An existing file is never overwritten without a word. */
export const sayText: CommandHandler<SayInput> = async (context, input) => {
  const { output, signal } = context
  const player = input.out === undefined ? await findPlayer(context) : undefined
  const text = (await textOrInput(context, input.text)).trim()
  if (text === '') throw new CommandError('No text given.', { code: 'bad_request' })
  // A voice of the configuration belongs to the provider of the configuration.
  const speech = input.local ? { provider: 'local' as const, voice: null } : {}
  const spoken = await withVoice(context, speech, ({ speaker }) =>
    speaker.speak({ text, voice: input.voice ?? null, signal }),
  )
  if (!spoken.ok) throw new CommandError(spoken.reason, { code: 'unavailable' })
  const { data, extension } = spoken.recording
  if (spoken.notice) output.note(spoken.notice)
  if (player) {
    const folder = await mkdtemp(join(tmpdir(), 'familiar-say-'))
    try {
      const file = join(folder, `speech.${extension}`)
      await writeFile(file, data)
      await play(context, player(file))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
    return output.report(input.json, { path: null, by: spoken.by, bytes: data.length }, '')
  }
  const path = resolve(input.out ?? '')
  if (existsSync(path) && !(await isConfirmed(context, input, `Overwrite ${path}?`))) return exitCodes.failed
  await writeFileAtomically(path, data, 0o644)
  return output.report(input.json, { path, by: spoken.by, bytes: data.length }, path)
}

/** Programs that play a file, and their arguments. */
const players: Readonly<Record<string, readonly string[]>> = {
  afplay: [],
  'pw-play': [],
  paplay: [],
  aplay: ['-q'],
  ffplay: ['-nodisp', '-autoexit', '-loglevel', 'error'],
  mpv: ['--no-video', '--really-quiet'],
  play: ['-q'],
}

async function findPlayer({ env }: CommandContext): Promise<(file: string) => [string, ...string[]]> {
  for (const [name, args] of Object.entries(players)) {
    const program = await findProgram([name], env.PATH ?? '')
    if (program !== undefined) return (file) => [program, ...args, file]
  }
  throw new CommandError('No program that plays audio was found.', {
    code: 'unavailable',
    hint: 'Write it to a file instead: --out speech.wav. On Debian and Ubuntu, alsa-utils has a player.',
  })
}

async function play({ env, signal }: CommandContext, argv: [string, ...string[]]): Promise<void> {
  const environment = definedVariables(env)
  const { isFine, outcome } = await runProgram({ argv, environment, workingDirectory: '/', wallMs: playMs, signal })
  if (isFine) return
  const [reason = 'it gave no reason'] = Buffer.from(outcome.stderr).toString('utf8').trim().split('\n')
  throw new CommandError(`${argv[0]} could not play the audio: ${reason}`, {
    code: 'unavailable',
    hint: 'Write it to a file instead: --out speech.wav',
  })
}

const playMs = 30 * 60_000

export const showVoice: CommandHandler<object> = async (context, input) => {
  const { homePath, output } = context
  const directory = homePaths(homePath).voice
  const isInstalled = createInstalledParts(directory, systemClock())
  const parts = voiceParts.map(({ name, use }) => ({ name, use, installed: isInstalled(name) }))
  const { speech, transcription } = await withVoice(context, {}, async ({ speaker, transcriber }) => {
    return { speech: await speaker.status(), transcription: transcriber.status() }
  })
  const voices = isInstalled('kokoro-82m') ? Object.keys(kokoroVoices) : []
  return output.report(input.json, { directory, speech, transcription, parts, voices }, () => {
    output.print(`Speech:         ${speech.by ?? runnableHere(output, speech.hint)}`)
    output.print(`Transcription:  ${transcription.by ?? runnableHere(output, transcription.hint)}`)
    for (const { name, installed } of parts)
      output.print(`${name.padEnd(14)}  ${installed ? 'installed' : 'not installed'}`)
    if (voices.length > 0) output.print(`Voices of kokoro-82m: ${voices.join(' ')}`)
  })
}
