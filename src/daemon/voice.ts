import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { RunChild } from '../base/run-child.ts'
import { createGuardedFetch } from '../egress/guarded-fetch.ts'
import { createFetches } from '../tools/builtin/fetches.ts'
import { createTranscriber } from '../voice/create-transcriber.ts'
import { createLocalVoice, type LocalVoice } from '../voice/local-voice.ts'
import type { Transcriber } from '../voice/transcriber.ts'
import type { Config } from './config/config.ts'

export interface OpenedVoice {
  /** The models of this machine; what speaks by other means is the tools'. */
  local: LocalVoice
  transcriber: Transcriber
  close(): Promise<void>
}

/** Speech in and out. Nothing of it is loaded before it is used. */
export function openVoice(needs: {
  config: () => Config
  folder: string
  runChild: RunChild
  searchPath: string
  clock: Clock
  logger: Logger
}): OpenedVoice {
  const { config } = needs
  const local = createLocalVoice(needs)
  const fetches = createFetches((allowedHosts) => createGuardedFetch({ allowedHosts }))
  const transcriber = createTranscriber({
    ...needs,
    settings: () => config().voice.transcription,
    local,
    fetchReaching: fetches.reaching,
  })
  return {
    local,
    transcriber,
    async close() {
      await transcriber.close()
      await Promise.all([local.close(), fetches.close()])
    },
  }
}
