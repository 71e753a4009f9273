import { afterAll, afterEach, describe, vi } from 'vitest'
import { chromiumPath, closeBrowser } from './chromium.ts'
import { closePages } from './open-page.ts'

/** Tests in a real browser. Without Chromium they are skipped, and say so. */
export function describePage(name: string, tests: () => void): void {
  const title = chromiumPath === undefined ? `${name} (skipped: there is no Chromium here)` : name
  describe.skipIf(chromiumPath === undefined)(title, () => {
    // A browser beside a daemon on a busy machine; nothing waits that long where all is well.
    vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
    afterEach(closePages)
    afterAll(closeBrowser)
    tests()
  })
}
