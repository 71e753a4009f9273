import { type Browser, chromium } from 'playwright-core'
import { findChromium } from '../../../src/tools/builtin/browsers.ts'

export const chromiumPath = await findChromium({ executable: null, searchPath: process.env.PATH ?? '' })

let running: Promise<Browser> | undefined
let more: readonly string[] = []

/** More arguments for Chromium, such as the file for its microphone. Set them before the first page of a test file. */
export function tellBrowser(args: readonly string[]): void {
  more = args
}

/** One for all the tests of a file; each has a context, and so cookies and a store, of its own. */
export function openBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('There is no Chromium here.')
  running ??= chromium.launch({
    executablePath: chromiumPath,
    chromiumSandbox: process.getuid?.() !== 0,
    args: [...more],
  })
  return running
}

export async function closeBrowser(): Promise<void> {
  await (await running)?.close()
  running = undefined
}
