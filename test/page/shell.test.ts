import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say, signIn } from './support/open-page.ts'
import { screenPaths, walkScreen } from './support/walk-screens.ts'

describePage('the page around its screens', () => {
  it('PAGE-6 SEC-22 a user who is not the owner sees their own data, and a notice where only the owner has access', async () => {
    const { familiar, fake, newContext, url } = await openPage()
    const send = async (path: string, body: object) => {
      const response = await familiar.request('POST', `/api/v1${path}`, body)
      expect(response.ok, `${path}: ${await response.clone().text()}`).toBe(true)
      return (await response.json()) as { url: string }
    }
    await send('/memories', { content: 'The owner keeps a key under the pot.' })
    fake.reply({ text: 'To the owner alone.' })
    await familiar.chat('What did I plan?', { session: 'the owner’s plans' })
    await send('/local/users', { name: 'Ben', tier: 'guest' })
    const context = await newContext()
    const page = await context.newPage()
    await signIn(page, (await send('/local/sign-in-link', { user: 'Ben' })).url)

    const paths = await screenPaths(page)
    for (const owners of ['/users', '/doctor', '/skills']) {
      expect(paths).not.toContain(owners)
      await page.goto(url + owners)
      await page.getByText('Only the owner can open this page.').waitFor()
    }
    await page.goto(url)
    fake.reply({ text: 'Hello, Ben.' })
    await say(page, 'Hi, I am new here')
    await page.getByRole('log').getByText('Hello, Ben.').waitFor()
    for (const path of paths) {
      for await (const name of walkScreen(page, url, path)) {
        const shown = (await page.locator('body').textContent()) ?? ''
        expect(shown, name).not.toMatch(/under the pot|the owner’s plans|To the owner alone/)
        // No screen asks for what this user may not have.
        expect(await page.getByRole('alert').allTextContents(), name).toEqual([])
      }
    }
  })

  it('PAGE-2 a screen that cannot be loaded says so, and the rest of the page keeps working', async () => {
    const { page, context } = await openPage()
    await context.route('**/assets/cost-screen*.js', (route) => route.fulfill({ status: 404, body: '' }))
    const toCost = async () => {
      await page.getByRole('link', { name: 'Settings' }).click()
      await page.getByRole('link', { name: 'Cost' }).click()
    }
    await toCost()
    await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor()
    expect(await findFaults(page)).toEqual([])
    await page.getByRole('link', { name: 'Schedules' }).click()
    await page.getByRole('heading', { name: 'Schedules' }).waitFor()
    await toCost()
    await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor()
    await context.unroute('**/assets/cost-screen*.js')
    await page.getByRole('button', { name: 'Reload page' }).click()
    await page.getByRole('heading', { name: 'Cost', exact: true }).waitFor()
  })

  it('PAGE-2 a palette that cannot be loaded says that the page is out of date', async () => {
    const { page, context } = await openPage({ context: { colorScheme: 'dark', serviceWorkers: 'block' } })
    await context.route('**/assets/palette*.js', (route) => route.fulfill({ status: 404, body: '' }))
    // The page has loaded it by itself already.
    await page.reload()
    await page.getByRole('combobox', { name: 'Message' }).waitFor()
    await page.keyboard.press('Control+k')
    const dialog = page.getByRole('dialog', { name: 'Reload needed' })
    await dialog.waitFor()
    expect(await findFaults(page)).toEqual([])
    await context.unroute('**/assets/palette*.js')
    await dialog.getByRole('button', { name: 'Reload page' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('combobox', { name: 'Message' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Quick search' }).waitFor()
  })
  it('PAGE-5 menus and dialogs are loaded after the first screen, and say when they cannot be', async () => {
    // The service worker has them in any case.
    const { page, context } = await openPage({ context: { serviceWorkers: 'block' } })
    // Loaded while nothing is done.
    await page.waitForFunction(() =>
      performance.getEntriesByType('resource').some(({ name }) => /\/assets\/layers-.*\.js$/.test(name)),
    )
    await context.route('**/assets/layers-*.js', (route) => route.fulfill({ status: 404, body: '' }))
    await page.reload()
    const dialog = page.getByRole('dialog', { name: 'Reload needed' })
    const notes = page.getByRole('button', { name: /^Private notes/ })
    await notes.click()
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await notes.click()
    await context.unroute('**/assets/layers-*.js')
    await dialog.getByRole('button', { name: 'Reload page' }).click()
    await dialog.waitFor({ state: 'detached' })
    await notes.click()
    await page.getByRole('dialog', { name: 'Private notes' }).waitFor()
  })
})
