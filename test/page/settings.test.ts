import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { openPage, say, signIn } from './support/open-page.ts'

describePage('the home in the page', () => {
  it('PAGE-6 a model is chosen for one conversation', async () => {
    const { page, fake } = await openPage({ path: '/' })
    fake.reply({ text: 'Hello.' })
    await say(page, 'Hi')
    await page.getByRole('log').getByText('Hello.').waitFor()
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('link', { name: 'Models' }).click()
    await page.getByText('in use').waitFor()
    await page.getByLabel('Model', { exact: true }).selectOption('fake/main')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('This conversation now uses fake/main.').waitFor()
  })

  it('PAGE-6 the configuration says where each value is set, and shows no key', async () => {
    const { page } = await openPage({ path: '/settings/configuration', toml: '[budget]\nper_day_usd = 3.5\n' })
    await page.getByLabel('Search settings').fill('per_day')
    const row = page.getByRole('listitem').filter({ hasText: 'budget.per_day_usd' })
    await row.getByText('3.5').waitFor()
    expect(await row.textContent()).toMatch(/familiar\.toml:\d+/)
    await page.getByLabel('Search settings').fill('nothing like that')
    await page.getByText('No results').waitFor()
    expect(await page.content()).not.toContain('a-key-for-the-fake')
  })

  it('PAGE-6 the doctor shows problems and how to fix them', async () => {
    const { page } = await openPage({ path: '/doctor', model: 'offline' })
    await page.getByText('route primary').waitFor()
    await page.getByText('familiar setup').first().waitFor()
    await page.getByRole('heading', { name: 'OK' }).waitFor()
  })

  it('PAGE-6 the users are listed, and the commands that change them', async () => {
    const { page } = await openPage({ path: '/users' })
    await page.getByText('No other users.').waitFor()
    await page.getByText('familiar users add NAME --plan guest').waitFor()
  })

  it('PAGE-1 one other browser is signed out, and then all of them', async () => {
    const { page, newContext, signInLink } = await openPage({ path: '/settings/browsers' })
    const other = await (await newContext()).newPage()
    await signIn(other, await signInLink())
    await page.reload()
    await page.getByText('this browser').waitFor()
    const row = page.getByRole('listitem').filter({ hasNotText: 'this browser' }).filter({ hasText: 'signed in' })
    await row.getByRole('button', { name: 'Sign out' }).click()
    await expect.poll(() => row.count()).toBe(0)
    await other.reload()
    await other.getByLabel('Or paste the link or code').waitFor()
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByLabel('Or paste the link or code').waitFor()
  })

  it('PAGE-4 an unknown address says so, and links back', async () => {
    const { page } = await openPage({ path: '/nowhere/at/all' })
    await page.getByText('There is no page at this address.').waitFor()
    await page.getByRole('link', { name: 'Back to chat' }).click()
    await page.getByRole('combobox', { name: 'Message' }).waitFor()
  })
})
