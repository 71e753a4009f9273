import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

interface PageBuild {
  isSettled(wanted: boolean): boolean
  build(node: string): Promise<void>
}

const require = createRequire(import.meta.url)
const page = require('../../../scripts/launcher/page.cjs') as PageBuild
const { withLock } = require('../../../scripts/launcher/start-lock.cjs') as {
  withLock(action: () => Promise<void>): Promise<void>
}

/** The page as its sources are now. `PAGE_AS_IS=1` takes the last build, for work on the sources during a run. */
export async function ensurePageIsBuilt(): Promise<void> {
  if (process.env.PAGE_AS_IS === '1' || isBuilt()) return
  // Another file of tests may have built it while this one waited.
  await withLock(async () => {
    if (!isBuilt()) await page.build(process.execPath)
  })
}

/** A start continues without a page that could not be built; a test of the page does not. */
function isBuilt(): boolean {
  const stamp = new URL('../../../.runtime/page.json', import.meta.url)
  return page.isSettled(true) && (JSON.parse(readFileSync(stamp, 'utf8')) as { isBuilt: boolean }).isBuilt
}
