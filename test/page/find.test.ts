import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { findFaults, sidewaysBy } from './support/find-faults.ts'
import { openPage } from './support/open-page.ts'

const side = (page: Page) => page.getByRole('navigation', { name: 'Familiar' })
const log = (page: Page) => page.getByRole('log')

async function search(page: Page, words: string): Promise<void> {
  // The shortcut works once the page is there.
  await page.getByLabel('Open menu').or(side(page)).first().waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Quick search' }).fill(words)
}

/** The words that are highlighted now. */
const highlighted = (page: Page) =>
  page.evaluate("[...(CSS.highlights.get('found') ?? [])].map(String)") as Promise<string[]>

async function isInView(place: Locator): Promise<boolean> {
  const box = await place.boundingBox()
  const height = place.page().viewportSize()?.height ?? 0
  return box !== null && box.y + box.height > 0 && box.y < height
}

describePage('finding', () => {
  it('FIND-4 a message far back is found while typing, opened by the keyboard, and its words are highlighted', async () => {
    const { page, familiar, fake } = await openPage()
    fake.respondWith(() => ({ text: 'I see.' }))
    await familiar.chat('Good morning', { session: 'long' })
    await familiar.chat('My **passport** expires in March', { session: 'long' })
    // Too much for the first part of the conversation that the page loads.
    for (let turn = 0; turn < 105; turn += 1) await familiar.chat(`Line ${turn}`, { session: 'long' })
    await page.reload()
    await search(page, 'march passp')
    const option = page.getByRole('option', { name: /passport expires in March/ })
    await option.waitFor()
    expect(await option.locator('mark').allTextContents()).toEqual(['passport', 'March'])
    await expect.poll(() => option.getAttribute('aria-selected')).toBe('true')
    await page.keyboard.press('Enter')
    const message = log(page).getByText('My passport expires in March')
    await message.waitFor()
    await expect.poll(() => isInView(message)).toBe(true)
    await expect.poll(() => highlighted(page)).toEqual(['passport', 'March'])
    expect(await log(page).locator('[aria-current=location]').textContent()).toContain('passport')
  })

  it('FIND-4 in a long reply the view goes to the words', async () => {
    const { page, familiar, fake } = await openPage()
    const lines = Array.from({ length: 120 }, (_, line) => `Paragraph ${line} of the story.`)
    fake.respondWith(() => ({ text: [...lines, 'A heron stood there.', ...lines].join('\n\n') }))
    await familiar.chat('Tell me a story', { session: 'one' })
    await page.reload()
    await side(page).getByRole('searchbox').fill('heron')
    await side(page).getByRole('region', { name: 'In conversations' }).getByRole('link').first().click()
    await expect.poll(() => highlighted(page)).toEqual(['heron'])
    await expect.poll(() => isInView(log(page).getByText('A heron stood there.'))).toBe(true)
  })

  it('FIND-4 memories, notes, files, schedules, tools and settings open from the search', async () => {
    const { page, familiar } = await openPage()
    await familiar.request('POST', '/api/v1/memories', { content: 'The juniper hedge is mine' })
    await familiar.request('PUT', '/api/v1/blocks/garden.md', { content: 'Plant juniper in fall' })
    await familiar.request('POST', '/api/v1/schedules', { cron: '0 9 * * *', message: 'Water the juniper' })
    mkdirSync(join(familiar.home, 'workspace', 'garden'), { recursive: true })
    const text = `${'Nothing here.\n'.repeat(200)}The juniper comes from the nursery.\n`
    writeFileSync(join(familiar.home, 'workspace', 'garden', 'orders.txt'), text)

    const open = async (words: string, name: RegExp) => {
      await search(page, words)
      await page.getByRole('option', { name }).first().click()
    }
    await open('juniper', /The juniper hedge is mine/)
    await page.waitForURL(/\/memory\//)
    await open('juniper', /Plant juniper in fall/)
    await page.waitForURL(/\/blocks\/garden\.md/)
    await open('juniper', /Water the juniper/)
    await page.waitForURL(/\/schedules\//)
    await open('juniper', /comes from the nursery/)
    const file = page.getByRole('dialog', { name: 'garden/orders.txt' })
    await file.getByText('The juniper comes from the nursery.').waitFor()
    await expect.poll(() => highlighted(page)).toEqual(['juniper'])
    await file.getByRole('button', { name: 'Mention in a message' }).click()
    const message = page.getByRole('combobox', { name: 'Message' })
    await expect.poll(() => message.inputValue()).toContain('@garden/orders.txt')

    await open('search memory', /memory_query|recall_memory/)
    await page.waitForURL(/\/toolbox\//)
    await open('approval minutes', /minutes/i)
    await page.waitForURL(/\/settings\/permissions\?setting=policy\.approval_minutes/)
    await expect
      .poll(() => page.evaluate('document.activeElement.closest("[data-setting]")?.dataset.setting'))
      .toBe('policy.approval_minutes')
    await open('http port', /http\.port/)
    await page.waitForURL(/\/settings\/configuration\?setting=http\.port/)
    await page.getByText('http.port', { exact: true }).waitFor()
  })

  it('FIND-1 finds words of Chinese and Arabic, and says when there is nothing', async () => {
    const { page, familiar, fake } = await openPage()
    fake.respondWith(() => ({ text: 'I see.' }))
    await familiar.chat('昨日は東京で寿司を食べました', { session: 'one' })
    await familiar.chat('ينتهي جواز السفر في مارس', { session: 'two' })
    await page.reload()
    await side(page).getByRole('searchbox').fill('寿司')
    const found = side(page).getByRole('region', { name: 'In conversations' })
    await expect.poll(() => found.locator('mark').allTextContents()).toEqual(['寿司'])
    await side(page).getByRole('searchbox').fill('السفر')
    await expect.poll(() => found.locator('mark').allTextContents()).toEqual(['السفر'])
    await found.getByRole('link').first().click()
    await expect.poll(() => highlighted(page)).toEqual(['السفر'])
    await side(page).getByRole('searchbox').fill('qwertzuiop')
    await side(page).getByText('No results').waitFor()
  })

  it.each(['light', 'dark'] as const)('FIND-1 axe finds nothing serious in the results, %s', async (colorScheme) => {
    const { page, familiar, fake } = await openPage({ context: { colorScheme, viewport: { width: 390, height: 844 } } })
    fake.respondWith(() => ({ text: 'I see.' }))
    await familiar.chat('The juniper is green', { session: 'one' })
    await search(page, 'juniper')
    await page
      .getByRole('option', { name: /juniper is green/ })
      .last()
      .waitFor()
    expect(await findFaults(page)).toEqual([])
    expect(await sidewaysBy(page)).toBe(0)
  })
})
