import type { Clock } from '../../base/clock.ts'
import type { RunChild } from '../../base/run-child.ts'
import type { AllowedHost } from '../../egress/destination.ts'
import type { LoopbackProxy } from '../../egress/loopback-proxy.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { createSpeaker } from '../../voice/create-speaker.ts'
import type { LocalVoice } from '../../voice/local-voice.ts'
import type { Speaker, SpeechSettings } from '../../voice/speaker.ts'
import type { Tool } from '../tool.ts'
import { createBrowserTool } from './browser/browser-tool.ts'
import { createExecTool } from './exec/exec-tool.ts'
import { createFetches, type OpenFetch } from './fetches.ts'
import type { PutMedia } from './put-media.ts'
import { createSpeechTool } from './speech/speech-tool.ts'
import type { WebSearchSettings } from './web/web-search.ts'
import { createWebTools } from './web/web-tools.ts'

interface OutsideSettings {
  webSearch: WebSearchSettings | null
  browser: { executable: string | null }
  exec: { host: 'ask' | 'never' }
  tts: SpeechSettings
}

export interface OutsideNeeds {
  /** Read at every use, so that a reload takes effect at once. */
  settings: () => OutsideSettings
  /** Hosts of the owner's own network that may be read. A browser reaches none of them. */
  allowedHosts: () => readonly AllowedHost[]
  openFetch: OpenFetch
  openProxy: () => Promise<LoopbackProxy>
  sandbox: Pick<Sandbox, 'run'>
  runChild: RunChild
  putMedia: PutMedia
  /** The voice models of this machine; whoever made them lets go of them. Absent: there are none. */
  voice?: LocalVoice
  workspace: string
  /** Holds the profiles of the browsers. */
  browserDirectory: string
  /** What programs of this machine are told of their surroundings: PATH and the like, and no secret. */
  environment: Readonly<Record<string, string>>
  isRoot: boolean
  clock: Clock
}

export interface OutsideTools {
  tools: Tool[]
  /** The same that the tool uses. */
  speaker: Speaker
  /** Ends the browsers and lets go of the network. */
  close(): Promise<void>
}

const usualPath = '/usr/local/bin:/usr/bin:/bin'

/** The tools that reach beyond the conversation: the web, a browser, programs, a voice. */
export function createOutsideTools(needs: OutsideNeeds): OutsideTools {
  const { settings, environment } = needs
  const fetches = createFetches(needs.openFetch)
  const searchPath = environment.PATH ?? usualPath
  const browser = createBrowserTool({
    ...needs,
    settings: () => settings().browser,
    directory: needs.browserDirectory,
    searchPath,
  })
  const speaker = createSpeaker({
    ...needs,
    settings: () => settings().tts,
    local: needs.voice ?? null,
    fetchReaching: fetches.reaching,
    searchPath,
  })
  return {
    speaker,
    tools: [
      ...createWebTools({ ...needs, fetches, webSearch: () => settings().webSearch }),
      browser.tool,
      createExecTool({ ...needs, settings: () => settings().exec }),
      createSpeechTool({ ...needs, speaker }),
    ],
    async close() {
      await browser.close()
      await fetches.close()
    },
  }
}
