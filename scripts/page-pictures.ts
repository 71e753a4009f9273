import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { closeBrowser } from '../test/page/support/chromium.ts'
import { detailPaths } from '../test/page/support/detail-paths.ts'
import { type OpenedPage, openPage, signIn } from '../test/page/support/open-page.ts'
import { fillWithSamples, type Samples, sampleOptions } from '../test/page/support/sample-data.ts'
import { screenPaths, settle, walkScreen } from '../test/page/support/walk-screens.ts'

// Photographs every screen of the page over a real daemon with samples: `node scripts/page-pictures.ts FOLDER`. Those of the
// README go to docs/pictures.

const folder = process.argv[2]
const shown = join(import.meta.dirname, '../docs/pictures')
/** The pictures of the README. */
const chosen = new Set(['talk-light', 'talk-dark', 'memory-search-light', 'cost-dark'])
const window = { width: 1180, height: 860 }

const opened = await openPage({ ...sampleOptions, context: { viewport: window } })
try {
  const samples = await fillWithSamples(opened.familiar, opened.fake)
  for (const colorScheme of ['light', 'dark'] as const) {
    await photograph(opened, { samples, colorScheme, viewport: window, name: colorScheme })
    if (folder)
      await photograph(opened, {
        samples,
        colorScheme,
        viewport: { width: 390, height: 844 },
        name: `phone-${colorScheme}`,
      })
  }
} finally {
  await opened.close()
  await closeBrowser()
}

async function photograph(
  { newContext, signInLink, url }: OpenedPage,
  wanted: {
    samples: Samples
    colorScheme: 'light' | 'dark'
    viewport: { width: number; height: number }
    name: string
  },
): Promise<void> {
  const { samples, colorScheme, viewport, name } = wanted
  const context = await newContext({ colorScheme, viewport, reducedMotion: 'reduce' })
  const page = await context.newPage()
  await signIn(page, await signInLink())
  await keep(page, `welcome-${name}`)
  await page.goto(`${url}/talk/${samples.session}`)
  await page.getByRole('article').waitFor()
  await page.locator('iframe').first().contentFrame().getByRole('table').waitFor()
  await settle(page)
  await keep(page, `talk-${name}`)
  for (const path of [...(await screenPaths(page)), ...(folder ? detailPaths(samples) : [])]) {
    for await (const screen of walkScreen(page, url, path)) {
      const words = screen
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, ' ')
        .trim()
        .replaceAll(' ', '-')
      await keep(page, `${words}-${name}`)
    }
  }
  await context.close()
}

async function keep(page: Page, name: string): Promise<void> {
  if (!folder && !chosen.has(name)) return
  // A frame around what was clicked last is no part of the screen.
  await page.evaluate('document.activeElement?.blur()')
  // Plots come a moment after the text around them.
  await page.waitForTimeout(500)
  const picture = await page.screenshot()
  if (chosen.has(name)) await writeFile(join(shown, `page-${name}.png`), picture)
  if (!folder) return
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${name}.png`), picture)
}
