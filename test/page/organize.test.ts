import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { findFaults, sidewaysBy } from './support/find-faults.ts'
import { type OpenPageOptions, openPage } from './support/open-page.ts'

const side = (page: Page) => page.getByRole('navigation', { name: 'Familiar' })
const entry = (page: Page, name: string) => side(page).getByRole('link', { name: new RegExp(name) })

async function openWith(messages: Record<string, string>, options: OpenPageOptions = {}) {
  const opened = await openPage(options)
  opened.fake.respondWith(() => ({ text: 'I **see**.' }))
  for (const [session, message] of Object.entries(messages)) await opened.familiar.chat(message, { session })
  await opened.page.reload()
  return opened
}

async function choose(page: Page, name: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: item, exact: true }).click()
}

async function addFolder(page: Page, name: string): Promise<void> {
  await side(page).getByRole('button', { name: 'New folder' }).click()
  await page.getByRole('textbox', { name: 'Folder name' }).fill(name)
  await page.keyboard.press('Enter')
  await side(page).getByRole('region', { name, exact: true }).waitFor()
}

describePage('organizing conversations', () => {
  it('ORG-1 a folder is made, filled by dragging and by the menu, collapsed, renamed and removed', async () => {
    const { page } = await openWith({ one: 'About tulips', two: 'About trains' })
    await addFolder(page, 'Travel')
    const folder = (name: string) => side(page).getByRole('region', { name, exact: true })
    await entry(page, 'About trains').dragTo(folder('Travel').getByRole('button', { name: 'Travel' }).first())
    await folder('Travel')
      .getByRole('link', { name: /About trains/ })
      .waitFor()
    await choose(page, 'About tulips', 'Move to folder')
    const dialog = page.getByRole('dialog', { name: 'Move to folder' })
    await dialog.getByRole('button', { name: 'Travel' }).click()
    await folder('Travel')
      .getByRole('link', { name: /About tulips/ })
      .waitFor()

    await folder('Travel')
      .getByRole('button', { name: /^Travel/ })
      .click()
    await folder('Travel').getByRole('link').first().waitFor({ state: 'detached' })
    await page.reload()
    await folder('Travel').waitFor()
    expect(await folder('Travel').getByRole('link').count()).toBe(0)
    await folder('Travel')
      .getByRole('button', { name: /^Travel/ })
      .click()

    await choose(page, 'folder Travel', 'Rename folder')
    await page.getByRole('textbox', { name: 'Folder name' }).fill('Trips')
    await page.keyboard.press('Enter')
    await folder('Trips')
      .getByRole('link', { name: /About tulips/ })
      .waitFor()

    await choose(page, 'About tulips', 'Move to folder')
    await dialog.getByRole('button', { name: 'No folder' }).click()
    await side(page)
      .getByRole('region', { name: 'Today' })
      .getByRole('link', { name: /About tulips/ })
      .waitFor()
    await choose(page, 'folder Trips', 'Remove folder')
    await folder('Trips').waitFor({ state: 'detached' })
    await side(page)
      .getByRole('region', { name: 'Today' })
      .getByRole('link', { name: /About trains/ })
      .waitFor()
  })

  it('ORG-2 ORG-3 several conversations are selected, moved, archived and deleted, and come back', async () => {
    const { page } = await openWith({ one: 'About tulips', two: 'About trains', three: 'About cheese' })
    const select = async (...names: string[]) => {
      await side(page).getByRole('button', { name: 'Select', exact: true }).click()
      for (const name of names)
        await side(page)
          .getByRole('checkbox', { name: `Select ${name}` })
          .check()
      await side(page).getByText(`${names.length} selected`).waitFor()
    }
    const bar = side(page).getByRole('toolbar')
    await select('About tulips', 'About trains')
    await bar.getByRole('button', { name: 'Move to folder' }).click()
    const dialog = page.getByRole('dialog', { name: 'Move to folder' })
    await dialog.getByRole('textbox', { name: 'New folder' }).fill('Mixed')
    await page.keyboard.press('Enter')
    const mixed = side(page).getByRole('region', { name: 'Mixed', exact: true })
    await expect.poll(() => mixed.getByRole('link').count()).toBe(2)

    await select('About tulips', 'About cheese')
    await bar.getByRole('button', { name: 'Archive' }).click()
    await entry(page, 'About cheese').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await entry(page, 'About cheese').waitFor()

    await select('About tulips', 'About trains')
    await bar.getByRole('button', { name: 'Delete' }).click()
    await entry(page, 'About trains').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => mixed.getByRole('link').count()).toBe(2)
  })

  it('ORG-3 a deleted conversation is left, and restored from the list of deleted ones', async () => {
    const { page } = await openWith({ one: 'About tulips' })
    await entry(page, 'About tulips').click()
    await page.getByRole('main').getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.waitForURL((url) => url.pathname === '/')
    await entry(page, 'About tulips').waitFor({ state: 'detached' })
    await side(page).getByRole('button', { name: 'Recently deleted' }).click()
    const dialog = page.getByRole('dialog', { name: 'Recently deleted' })
    await dialog.getByText('About tulips').waitFor()
    expect(await findFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Restore' }).click()
    await dialog.getByText('No deleted conversations').waitFor()
    await page.keyboard.press('Escape')
    await entry(page, 'About tulips').waitFor()
  })

  it('ORG-2 an archived conversation is unarchived by the keyboard', async () => {
    const { page } = await openWith({ one: 'About tulips' })
    await choose(page, 'About tulips', 'Archive')
    await entry(page, 'About tulips').waitFor({ state: 'detached' })
    await side(page).getByRole('checkbox', { name: 'Show archived' }).check()
    await entry(page, 'About tulips').waitFor()
    await page.getByRole('button', { name: 'Actions for About tulips' }).focus()
    await page.keyboard.press('Enter')
    const menu = page.getByRole('menu')
    await menu.waitFor()
    const focused = () => page.evaluate('document.activeElement.textContent')
    // The menu takes the focus a moment after it is there.
    await expect.poll(() => page.evaluate('document.activeElement.closest("[role=menu]") !== null')).toBe(true)
    await page.keyboard.press('End')
    await expect.poll(focused).toBe('Delete')
    await page.keyboard.press('ArrowUp')
    await expect.poll(focused).toBe('Unarchive')
    await page.keyboard.press('Enter')
    await menu.waitFor({ state: 'detached' })
    await side(page).getByRole('checkbox', { name: 'Show archived' }).uncheck()
    await entry(page, 'About tulips').waitFor()
  })

  it('ORG-4 an export says what it contains, and the HTML page opens without scripts or requests', async () => {
    const { page, context } = await openWith({ one: 'About <b>tulips</b> & "more"' })
    await choose(page, 'About <b>tulips</b> & "more"', 'Export')
    const dialog = page.getByRole('dialog', { name: 'Export conversation' })
    await dialog.getByText('The file contains 2 messages.').waitFor()
    await dialog.getByRole('radio', { name: /HTML/ }).check()
    await dialog.getByText('Anyone who has the file can read it.').waitFor()
    const downloading = page.waitForEvent('download')
    await dialog.getByRole('button', { name: 'Download' }).click()
    const file = await downloading
    expect(file.suggestedFilename()).toMatch(/^About _b_tulips.*\.html$/)
    const html = readFileSync(await file.path(), 'utf8')

    const shared = await context.newPage()
    const asked: string[] = []
    shared.on('request', (request) => asked.push(request.url()))
    await shared.setContent(html)
    await shared.getByRole('heading', { level: 1, name: 'About <b>tulips</b> & "more"' }).waitFor()
    expect(await shared.locator('strong').allTextContents()).toEqual(['see'])
    expect(asked).toEqual([])
    await shared.close()
  })

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('ORG-1 axe finds nothing serious in the list with folders, %s at %i', async (colorScheme, width) => {
    const { page } = await openWith(
      { one: 'About tulips', two: 'About trains' },
      { context: { colorScheme, viewport: { width, height: 800 } } },
    )
    if (width < 700) await page.getByRole('button', { name: 'Open menu' }).click()
    await addFolder(page, 'Travel')
    expect(await findFaults(page)).toEqual([])
    await side(page).getByRole('button', { name: 'Select', exact: true }).click()
    expect(await findFaults(page)).toEqual([])
    expect(await sidewaysBy(page)).toBe(0)
  })
})
