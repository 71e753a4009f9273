import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/logger.ts'
import { createRunChild } from '../../base/run-child.ts'
import { formatProblems } from '../../daemon/config/config-problem.ts'
import { loadConfig } from '../../daemon/config/load-config.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import type { AllowedHost } from '../../egress/destination.ts'
import { createGuardedFetch, type GuardedFetch } from '../../egress/guarded-fetch.ts'
import { createSpeaker } from '../../voice/create-speaker.ts'
import { createTranscriber } from '../../voice/create-transcriber.ts'
import { createLocalVoice } from '../../voice/local-voice.ts'
import type { Speaker, SpeechSettings } from '../../voice/speaker.ts'
import type { Transcriber } from '../../voice/transcriber.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'

export interface OpenVoice {
  speaker: Speaker
  transcriber: Transcriber
}

/** Voice as this home has it, in this process: no daemon is needed. `speech` overrides what the configuration says. */
export async function withVoice<T>(
  { homePath, env }: CommandContext,
  speech: Partial<SpeechSettings>,
  work: (voice: OpenVoice) => Promise<T>,
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
  const local = createLocalVoice({ ...machine, folder: homePaths(homePath).voice, clock })
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
