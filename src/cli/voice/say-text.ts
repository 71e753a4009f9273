import { resolve } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { writeFileAtomically } from '../../base/safe-file.ts'
import type { CommandHandler } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { withVoice } from './open-voice.ts'

export const sayText: CommandHandler<{ text: string; out?: string; voice?: string; local?: boolean }> = async (
  context,
  input,
) => {
  const { output, stdin, signal } = context
  const text = (input.text === '-' ? await readAll(stdin) : input.text).trim()
  if (text === '') throw new CommandError('There is nothing to say.', { code: 'bad_request' })
  // A voice of the configuration belongs to the provider that stands there.
  const speech = input.local ? { provider: 'local' as const, voice: null } : {}
  const spoken = await withVoice(context, speech, ({ speaker }) =>
    speaker.speak({ text, voice: input.voice ?? null, signal }),
  )
  if (!spoken.ok) throw new CommandError(spoken.reason, { code: 'unavailable' })
  const { data, extension } = spoken.recording
  const path = resolve(input.out ?? `speech.${extension}`)
  await writeFileAtomically(path, data, 0o644)
  if (input.json) output.printJson({ path, by: spoken.by, bytes: data.length })
  else output.print(path)
  return undefined
}
