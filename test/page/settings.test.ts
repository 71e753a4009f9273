import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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

  it('SETUP-2 permissions, limits, memory, name and routes are changed in the page, and the file keeps its comments', async () => {
    const toml = '\n# Mine.\n[budget] # dollars\nper_day_usd = 3.5\n'
    const { page, url, familiar } = await openPage({ path: '/settings/permissions', toml })
    const saved = async () => {
      await page.getByText('Saved', { exact: true }).last().waitFor()
      await page.getByText('Saved', { exact: true }).last().waitFor({ state: 'detached' })
    }
    const text = () => readFileSync(join(familiar.home, 'familiar.toml'), 'utf8')
    await page.getByLabel('Permission mode').selectOption('strict')
    await page.getByText('Also asks before local changes').waitFor()
    await expect.poll(text).toContain('mode = "strict"')

    await page.goto(`${url}/cost`)
    await page.getByLabel('Per day').fill('4.25')
    await page.keyboard.press('Enter')
    await expect.poll(text).toContain('# Mine.\n[budget] # dollars\n')
    await expect.poll(text).toContain('per_day_usd = 4.25')
    await page.getByLabel('Per day').fill('-1')
    await page.getByLabel('Per message').fill('0.5')
    await page.keyboard.press('Enter')
    await expect.poll(text).toContain('per_message_usd = 0.5')
    expect(text()).toContain('per_day_usd = 4.25')

    await page.goto(`${url}/settings/memory`)
    await page.getByLabel('Remember conversations').check()
    await expect.poll(text).toContain('conversations = true')
    await page.goto(`${url}/settings`)
    await page.getByLabel('Agent name').fill('Nelly')
    await page.keyboard.press('Enter')
    await expect.poll(text).toContain('name = "Nelly"')
    await page.goto(`${url}/models`)
    await page.getByLabel('Background tasks').selectOption('fake/main')
    await expect.poll(text).toContain('fast = [ "fake/main" ]')
    await page.getByLabel('Background tasks').selectOption('')
    await expect.poll(text).not.toContain('fast =')
    await saved()
  })

  it('SETUP-2 the bot of Telegram is set in the page, and the command that restarts is shown', async () => {
    const { page, familiar } = await openPage({ path: '/settings/telegram' })
    const token = '1234567:AAF-abcdefghijklmnopqrstuvwxyz01234'
    await page.getByLabel('Your Telegram user ids').fill('me')
    await page.getByText('Enter numbers, separated by commas.').waitFor()
    await page.getByLabel('Your Telegram user ids').fill('700100, 700200')
    await page.getByLabel('Bot token').fill(token)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Restart Familiar to apply: telegram').waitFor()
    await page.getByText('familiar restart').waitFor()
    expect(readFileSync(join(familiar.home, 'familiar.toml'), 'utf8')).toContain('allowed_ids = [ 700100, 700200 ]')
    expect(await page.content()).not.toContain(token)
  })

  it('SEC-4a behind a proxy settings are shown and cannot be changed', async () => {
    const { page } = await openPage({
      path: '/settings/permissions',
      context: { extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.9' } },
    })
    await page.getByText('familiar config set KEY VALUE').waitFor()
    expect(await page.getByLabel('Permission mode').isDisabled()).toBe(true)
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
