import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { openPage } from './support/open-page.ts'
import { fillWithSamples, sampleOptions } from './support/sample-data.ts'
import { settle } from './support/walk-screens.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })

/** Presses Tab until the focus is where the pattern says, like a user without a mouse. */
async function tabTo(page: Page, wanted: RegExp, key = 'Tab'): Promise<string> {
  for (let pressed = 0; pressed < 120; pressed += 1) {
    const name = await focused(page)
    if (wanted.test(name)) return name
    await page.keyboard.press(key)
  }
  throw new Error(`the focus never came to ${wanted}`)
}

/** The name of what has the focus. */
async function focused(page: Page): Promise<string> {
  return (await page.evaluate(
    `(document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.innerText ?? '').trim()`,
  )) as string
}

describePage('the keyboard alone', () => {
  it('PAGE-4 says something, reads the answer, edits it, and goes to another conversation', async () => {
    const { page, fake, familiar } = await openPage()
    fake.reply({ text: 'An old one.' })
    await familiar.chat('Something old', { session: 'Older' })
    await page.reload()
    fake.reply({ text: 'Hello.' })
    await tabTo(page, /^Message$/)
    await page.keyboard.type('Hi there')
    await page.keyboard.press('Enter')
    await log(page).getByText('Hello.').waitFor()
    await page.locator('article[aria-busy=false]').waitFor()
    await tabTo(page, /^Edit$/, 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    // The focus is back where it was.
    await expect.poll(() => focused(page)).toBe('Edit')
    await tabTo(page, /^Something old|^Older/, 'Shift+Tab')
    await page.keyboard.press('Enter')
    await log(page).getByText('An old one.').waitFor()
  })

  it('PAGE-4 the menu of a conversation renames it', async () => {
    const { page, fake } = await openPage()
    fake.reply({ text: 'Hello.' })
    await page.getByRole('combobox', { name: 'Message' }).focus()
    await page.keyboard.type('Hi')
    await page.keyboard.press('Enter')
    await log(page).getByText('Hello.').waitFor()
    await tabTo(page, /^More$/, 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Rename' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByLabel('Title').waitFor()
    await tabTo(page, /^$/)
    await page.getByLabel('Title').fill('')
    await page.keyboard.type('By keys')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'By keys' }).waitFor()
  })

  it('PAGE-4 SETUP-4 every screen is reached from the list, and the content by the first link', async () => {
    const { page, familiar, fake } = await openPage(sampleOptions)
    await fillWithSamples(familiar, fake)
    const follow = async (name: string) => {
      await tabTo(page, new RegExp(`^${name}$`))
      await page.keyboard.press('Enter')
      await settle(page)
      await page.locator(`nav a[aria-current=page]`, { hasText: name }).first().waitFor()
    }
    const destinations = ['Chat', 'Memory', 'Tools', 'Schedules', 'Settings']
    expect(await page.locator('nav[aria-label="Familiar"] > ul a').allTextContents()).toEqual(destinations)
    for (const destination of destinations) {
      await follow(destination)
      for (const section of (await page.locator('nav[data-sections] a').allTextContents()).slice(1)) {
        await follow(section)
      }
    }
    await page.reload()
    await settle(page)
    await tabTo(page, /^Skip to content$/)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(`document.querySelector('main').contains(document.activeElement)`)).toBe(true)
  })
})
