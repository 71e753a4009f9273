import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { CommandHandler } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { withVoice } from './open-voice.ts'

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
  if (input.json) output.printJson({ text, by, seconds: seconds ?? null })
  else if (text === '') output.note('Nobody speaks in it.')
  else output.print(text)
  return undefined
}
