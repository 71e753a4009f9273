import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { detailPaths } from './support/detail-paths.ts'
import { findFaults, sidewaysBy } from './support/find-faults.ts'
import { openPage } from './support/open-page.ts'
import { fillWithSamples, type Samples, sampleOptions } from './support/sample-data.ts'
import { settle, walkScreen } from './support/walk-screens.ts'

const looks = [
  { colorScheme: 'light', viewport: { width: 1180, height: 760 } },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const

interface Asking {
  path: string
  open(page: Page): Promise<void>
}

const press = (page: Page, name: string) => page.getByRole('main').getByRole('button', { name }).first().click()
const choose = async (page: Page, button: string, item: string) => {
  await press(page, button)
  await page.getByRole('menuitem', { name: item }).click()
}

async function askToForget(page: Page): Promise<void> {
  await page.getByLabel('Name or word', { exact: true }).fill('shellfish')
  await press(page, 'Delete everything about it')
}

/** Dialogs above the screens. */
function dialogs({ session, memory, schedule }: Samples): Asking[] {
  return [
    { path: `/memory/${memory}`, open: (page) => press(page, 'Edit') },
    { path: '/memory', open: (page) => press(page, 'Add memory') },
    { path: '/blocks', open: (page) => press(page, 'New note') },
    { path: '/blocks/household.md', open: (page) => press(page, 'Shorten…') },
    { path: '/blocks/household.md', open: (page) => choose(page, 'Actions for household.md', 'Rename') },
    { path: '/capabilities/greeter', open: (page) => press(page, 'Repair') },
    { path: '/skills/tea', open: (page) => press(page, 'Turn off') },
    { path: `/schedules/${schedule}`, open: (page) => press(page, 'Cancel schedule') },
    { path: '/settings/browsers', open: (page) => press(page, 'Sign out everywhere') },
    { path: '/private-memory', open: (page) => press(page, 'New note') },
    { path: `/talk/${session}`, open: (page) => choose(page, 'More', 'Rename') },
    { path: '/memory?tab=store', open: askToForget },
    { path: '/', open: (page) => page.keyboard.press('Control+k') },
  ]
}

describePage('details and dialogs', () => {
  it.each(looks)(
    'PAGE-4 axe finds nothing in it, $colorScheme',
    async (context) => {
      const { page, url, familiar, fake } = await openPage({ ...sampleOptions, context })
      const samples = await fillWithSamples(familiar, fake)
      const faults: Record<string, unknown> = {}
      const look = async (name: string) => {
        const found = await findFaults(page)
        if (found.length > 0) faults[name] = found
        const by = await sidewaysBy(page)
        if (by > 0) faults[`${name}, sideways`] = by
      }
      for (const path of detailPaths(samples)) {
        for await (const name of walkScreen(page, url, path)) await look(name)
      }
      for (const [index, { path, open }] of dialogs(samples).entries()) {
        await page.goto(url + path)
        await settle(page)
        await open(page)
        await page.getByRole('dialog').waitFor()
        await look(`${path}, dialog ${index}`)
      }
      expect(faults).toEqual({})
    },
    300_000,
  )
})
