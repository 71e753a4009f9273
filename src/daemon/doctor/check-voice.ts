import { systemClock } from '../../base/clock.ts'
import { createInstalledParts } from '../../voice/files/installed-parts.ts'
import type { Speaker } from '../../voice/speaker.ts'
import type { Transcriber } from '../../voice/transcriber.ts'
import type { Config } from '../config/config.ts'
import { homePaths } from '../home-paths.ts'
import { type Finding, ok, warn } from './finding.ts'

/** Who speaks and who writes down. Models that nobody asked for are no problem. */
export async function checkVoice(
  config: Config,
  homePath: string,
  voice: { speaker: Pick<Speaker, 'status'>; transcriber: Pick<Transcriber, 'status'> },
): Promise<Finding[]> {
  const isInstalled = createInstalledParts(homePaths(homePath).voice, systemClock())
  const [speech, transcription] = [await voice.speaker.status(), voice.transcriber.status()]
  const isWanted = config.voice.transcription.provider === 'local'
  return [
    speech.by === null && config.tools.tts.provider !== 'off'
      ? warn('speech', speech.hint)
      : ok('speech', speech.by ?? 'off'),
    transcription.by === null && isWanted
      ? warn('transcription', transcription.hint, 'familiar voice install --transcription')
      : ok('transcription', transcription.by ?? transcription.hint),
    ...(isInstalled('whisper-tiny') && !isInstalled('opus-decoder')
      ? [warn('transcription', 'Voice notes (OGG) cannot be read.', 'familiar voice install --transcription')]
      : []),
  ]
}
