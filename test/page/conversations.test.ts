import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say } from './support/open-page.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const side = (page: Page) => page.getByRole('navigation', { name: 'Familiar' })
const finished = (page: Page) => log(page).locator('article[aria-busy=false]')
const learning = '[memory]\nextraction = false\n'

describePage('conversations in the page', () => {
  it('PAGE-9 a model is chosen for a new conversation, and another one later', async () => {
    const { page, fake, familiar } = await openPage({ otherModel: 'second-model' })
    const asked = () => fake.requests.map(({ body }) => Reflect.get(Object(body), 'model'))
    fake.respondWith(() => ({ text: 'Here I am.' }))
    const model = page.getByRole('combobox', { name: 'Model' })
    await model.selectOption('fake/second-model')
    await say(page, 'Who are you?')
    await finished(page).waitFor()
    expect(asked()).toEqual(['second-model'])
    await expect.poll(() => model.inputValue()).toBe('fake/second-model')
    await model.selectOption('')
    await expect
      .poll(async () => {
        const reply = await familiar.request('GET', '/api/v1/page/sessions')
        return ((await reply.json()) as { sessions: { model: unknown }[] }).sessions.map((one) => one.model)
      })
      .toEqual([null])
    await page.reload()
    await say(page, 'And now?')
    await finished(page).nth(1).waitFor()
    expect(asked()).toEqual(['second-model', 'fake-model'])
    expect(await model.inputValue()).toBe('')
    await page.getByText(/\d+% of context · \$0\.\d+/).waitFor()
    expect(await findFaults(page)).toEqual([])
  })

  it('SESS-12 PAGE-9 a private conversation is marked, and is not found again', async () => {
    const { page, fake, familiar } = await openPage({ toml: learning })
    fake.respondWith(() => ({ text: 'I see.' }))
    await page.getByRole('button', { name: 'Private conversation' }).click()
    await say(page, 'My brother Ben works in a bakery in Kiel.')
    await finished(page).waitFor()
    await page.getByRole('main').getByText('Private conversation').waitFor()
    await page.reload()
    await page.getByRole('main').getByText('Private conversation').waitFor()
    await side(page).getByRole('link', { name: 'New conversation' }).click()
    const isOn = () => page.getByRole('button', { name: 'Private conversation' }).getAttribute('aria-pressed')
    await expect.poll(isOn).toBe('false')
    await say(page, 'My sister Anna works in a harbor in Porto.')
    await finished(page).waitFor()
    const stored = async () => {
      const reply = await familiar.request('GET', '/api/v1/memories?kind=chunk')
      return ((await reply.json()) as { memories: { content: string }[] }).memories.map(({ content }) => content)
    }
    await expect.poll(stored).toContain('My sister Anna works in a harbor in Porto.')
    expect((await stored()).join()).not.toContain('Kiel')
  })

  it('PAGE-10 words inside a conversation are found in the list and with Ctrl-K, and lead to their place', async () => {
    const { page, familiar, fake } = await openPage({ toml: learning })
    fake.respondWith(() => ({ text: 'I see.' }))
    for (const text of [
      'Good plans for the summer',
      'My sister Anna repairs violins in Porto.',
      'Now the weather there',
    ]) {
      await familiar.chat(text, { session: 'long' })
    }
    await familiar.chat('Another matter', { session: 'other' })
    await page.reload()
    await expect
      .poll(async () =>
        (await (await familiar.request('GET', '/api/v1/memories?kind=chunk')).text()).includes('violins'),
      )
      .toBe(true)
    await side(page).getByRole('searchbox').fill('violins')
    const found = side(page).getByRole('region', { name: 'In conversations' }).getByRole('link')
    await found.getByText('My sister Anna repairs violins').waitFor()
    await found.first().click()
    await log(page).getByText('My sister Anna repairs violins in Porto.').waitFor()
    await log(page).locator('[aria-current=location]').waitFor()
    expect(new URL(page.url()).searchParams.get('message')).not.toBeNull()

    await side(page).getByRole('link', { name: 'New conversation' }).click()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Quick search' }).fill('violins porto')
    const option = page.getByRole('option', { name: /repairs violins in Porto/ })
    await option.waitFor()
    await option.click()
    await log(page).locator('[aria-current=location]').waitFor()
  })

  it('PAGE-10 conversations are listed by date, and a pinned one comes first', async () => {
    const { page, familiar, fake } = await openPage()
    fake.respondWith(() => ({ text: 'I see.' }))
    await familiar.chat('About tulips', { session: 'one' })
    await familiar.chat('About oranges', { session: 'two' })
    await page.reload()
    const groups = () => side(page).getByRole('heading', { level: 2 }).allTextContents()
    await expect.poll(groups).toEqual(['Today'])
    await side(page)
      .getByRole('link', { name: /About tulips/ })
      .click()
    const menu = async (item: string) => {
      await page.getByRole('button', { name: 'More', exact: true }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await menu('Pin')
    await expect.poll(groups).toEqual(['Pinned', 'Today'])
    const pinned = side(page).getByRole('region', { name: 'Pinned' })
    await pinned.getByRole('link', { name: /About tulips/ }).waitFor()
    await menu('Unpin')
    await expect.poll(groups).toEqual(['Today'])
  })
})
