import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import type { Json } from '../../src/protocol/messages.ts'
import { type LoopbackProxyOptions, openLoopbackProxy } from '../../src/security/network/sandbox-proxy.ts'
import { createBrowserTool } from '../../src/tools/builtin/browser-tool.ts'
import type { BrowserNeeds } from '../../src/tools/builtin/browsers.ts'
import type { ToolContext, ToolOutcome } from '../../src/tools/tool.ts'
import { createKeptMedia } from './kept-media.ts'
import { toolContext } from './tool-context.ts'

/** Tests that need Chromium skip themselves without it. */
export const hasChromium = ['/usr/bin/chromium', '/usr/bin/google-chrome'].some(existsSync)

/** The browser tool over real Chromium, with a profile that is thrown away. */
export async function openBrowserBench(proxy: LoopbackProxyOptions, given: Partial<BrowserNeeds> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'familiar-browser-'))
  const media = createKeptMedia()
  const browser = createBrowserTool({
    settings: () => ({ executable: null }),
    searchPath: '/usr/bin:/bin',
    directory: join(directory, 'profiles'),
    openProxy: () => openLoopbackProxy(proxy),
    isRoot: process.getuid?.() === 0,
    clock: systemClock(),
    putMedia: media.putMedia,
    ...given,
  })
  return {
    ...browser,
    files: media.files,
    directory,
    run: (input: Json, context: Partial<ToolContext> = {}): Promise<ToolOutcome> =>
      browser.tool.run(input, toolContext(context)),
    async end() {
      await browser.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

export type BrowserBench = Awaited<ReturnType<typeof openBrowserBench>>
