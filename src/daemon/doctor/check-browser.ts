import { inspectBrowser } from '../../tools/builtin/browser/find-chromium.ts'
import type { Config } from '../config/config.ts'
import { type Finding, ok, warn } from './finding.ts'

/** The user's own Chromium, for the browser tool. */
export async function checkBrowser({ tools }: Config, searchPath: string): Promise<Finding> {
  const { executable, problem } = await inspectBrowser({ ...tools.browser, searchPath }, process.getuid?.() === 0)
  if (problem === null) return ok('browser', executable ?? 'none')
  return warn('browser', problem, executable === null ? 'sudo apt-get install chromium' : undefined)
}
