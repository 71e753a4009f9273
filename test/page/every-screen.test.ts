import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { detailPaths } from './support/detail-paths.ts'
import { findFaults, sidewaysBy } from './support/find-faults.ts'
import { openPage } from './support/open-page.ts'
import { fillWithSamples, sampleOptions } from './support/sample-data.ts'
import { screenPaths, settle, walkScreen } from './support/walk-screens.ts'

/** Of the whole document, with all that its scroll areas do not hide. */
const documentSize = `({
  width: document.documentElement.scrollWidth,
  height: document.documentElement.scrollHeight,
})`
const phone = { width: 390, height: 844 }

describePage('every screen', () => {
  it.each(['light', 'dark'] as const)('PAGE-4 axe finds nothing serious, %s', async (colorScheme) => {
    const opened = await openPage({
      ...sampleOptions,
      context: { colorScheme, reducedMotion: 'reduce' },
    })
    const { page, url, familiar, fake, newContext } = opened
    const { session } = await fillWithSamples(familiar, fake)
    const faults: Record<string, string[]> = {}
    const look = async (name: string) => {
      const found = await findFaults(page)
      if (found.length > 0) faults[name] = found
    }
    await look('a first look')
    await page.goto(`${url}/talk/${session}`)
    await page.getByRole('article').waitFor()
    await look('a conversation')
    for (const path of await screenPaths(page)) {
      for await (const name of walkScreen(page, url, path)) await look(name)
    }
    const out = await (await newContext({ colorScheme })).newPage()
    await out.goto(url)
    await out.getByRole('button', { name: 'Sign in' }).waitFor()
    const signedOut = await findFaults(out)
    expect({ ...faults, ...(signedOut.length > 0 && { 'signing in': signedOut }) }).toEqual({})
  })

  it('PAGE-4 the accessibility check finds a known fault', async () => {
    const { page } = await openPage()
    expect(await findFaults(page)).toEqual([])
    await page.evaluate(`document.querySelector('main').append(document.createElement('button'))`)
    expect(await findFaults(page)).toEqual([expect.stringContaining('button-name')])
    expect(await sidewaysBy(page)).toBe(0)
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('div'), { style: 'width: 3000px; height: 1px' }))`,
    )
    expect(await sidewaysBy(page)).toBeGreaterThan(0)
  })

  it.each([phone, { width: 320, height: 640 }])(
    'PAGE-4 nothing scrolls sideways at $width pixels',
    async (viewport) => {
      const { page, url, familiar, fake } = await openPage({
        ...sampleOptions,
        context: { viewport },
      })
      const { session } = await fillWithSamples(familiar, fake)
      const tooWide: Record<string, number> = {}
      const look = async (name: string) => {
        const by = await sidewaysBy(page)
        if (by > 0) tooWide[name] = by
      }
      await look('a first look')
      await page.goto(`${url}/talk/${session}`)
      await page.getByRole('article').waitFor()
      await settle(page)
      await look('a conversation')
      for (const path of await screenPaths(page)) {
        for await (const name of walkScreen(page, url, path)) await look(name)
      }
      expect(tooWide).toEqual({})
    },
  )

  it.each([{ width: 1280, height: 800 }, phone])(
    'PAGE-4 nothing but scroll areas scrolls at $width by $height pixels',
    async (viewport) => {
      const { page, url, familiar, fake, newContext } = await openPage({ ...sampleOptions, context: { viewport } })
      const samples = await fillWithSamples(familiar, fake)
      const overflowing: Record<string, unknown> = {}
      const look = async (name: string, shown: Page = page) => {
        const size = (await shown.evaluate(documentSize)) as { width: number; height: number }
        if (size.width !== viewport.width || size.height !== viewport.height) overflowing[name] = size
      }
      await look('a first look')
      await page.goto(`${url}/talk/${samples.session}`)
      await page.getByRole('article').waitFor()
      await settle(page)
      await look('a conversation')
      for (const path of [...(await screenPaths(page)), ...detailPaths(samples)]) {
        for await (const name of walkScreen(page, url, path)) await look(name)
      }
      const out = await (await newContext({ viewport })).newPage()
      await out.goto(url)
      await out.getByRole('button', { name: 'Sign in' }).waitFor()
      await look('signing in', out)
      expect(overflowing).toEqual({})
    },
    300_000,
  )

  it('PAGE-6 an address with an unknown tab shows the first tab', async () => {
    const { page, url } = await openPage()
    for (const path of ['/toolbox', '/capabilities', '/memory']) {
      await page.goto(`${url}${path}?tab=nowhere`)
      await settle(page)
      expect(await page.getByRole('tab').first().getAttribute('aria-selected'), path).toBe('true')
      expect(await page.getByRole('tabpanel').count(), path).toBe(1)
    }
  })

  it('PAGE-4 on a phone the side list opens, and closes after navigation', async () => {
    const { page } = await openPage({ context: { viewport: phone, hasTouch: true } })
    const [path = '/'] = await screenPaths(page)
    await page.getByRole('button', { name: 'Open menu' }).tap()
    await page.locator(`nav a[href="${path}"]`).tap()
    await page.waitForURL(`**${path}`)
    await page.locator('nav[aria-label="Familiar"]').waitFor({ state: 'hidden' })
  })
})
