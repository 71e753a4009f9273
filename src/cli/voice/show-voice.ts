import { systemClock } from '../../base/clock.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { createInstalledParts } from '../../voice/files/installed-parts.ts'
import { kokoroVoices } from '../../voice/files/kokoro-voices.ts'
import { voiceParts } from '../../voice/files/voice-parts.ts'
import type { CommandHandler } from '../command.ts'
import { withVoice } from './open-voice.ts'

export const showVoice: CommandHandler<object> = async (context, input) => {
  const { homePath, output } = context
  const directory = homePaths(homePath).voice
  const isInstalled = createInstalledParts(directory, systemClock())
  const parts = voiceParts.map(({ name, use }) => ({ name, use, installed: isInstalled(name) }))
  const { speech, transcription } = await withVoice(context, {}, async ({ speaker, transcriber }) => {
    return { speech: await speaker.status(), transcription: transcriber.status() }
  })
  const voices = isInstalled('kokoro-82m') ? Object.keys(kokoroVoices) : []
  if (input.json) output.printJson({ directory, speech, transcription, parts, voices })
  else {
    output.print(`Says aloud:   ${speech.by ?? speech.hint}`)
    output.print(`Writes down:  ${transcription.by ?? transcription.hint}`)
    for (const { name, installed } of parts)
      output.print(`${name.padEnd(12)}  ${installed ? 'installed' : 'not installed'}`)
    if (voices.length > 0) output.print(`Voices of kokoro-82m: ${voices.join(' ')}`)
  }
  return undefined
}
