import type { Page } from 'playwright-core'
import { afterEach, expect, it } from 'vitest'
import { cleanUp } from '../e2e/cli-process.ts'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { openBrowser } from './support/chromium.ts'
import { openCuttingProxy } from './support/cutting-proxy.ts'
import { describePage } from './support/describe-page.ts'
import { openPage, say, signIn } from './support/open-page.ts'
import { startPageDaemon } from './support/page-daemon.ts'
import { watchContext } from './support/watch-page.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const finished = (page: Page) => log(page).locator('article[aria-busy=false]')

/** A text in which a piece that is missing or doubled is seen. */
const count = (to: number) => Array.from({ length: to }, (_, index) => `word${index}`).join(' ')

describePage('the page that misses nothing', () => {
  afterEach(cleanUp)

  it('PAGE-2 a stream that is cut in the middle of a reply continues at the same place', async () => {
    const { fake, familiar, newContext, signInLink } = await openPage()
    const proxy = await openCuttingProxy(familiar.daemon.url)
    const context = await newContext({ origins: [proxy.url] })
    const page = await context.newPage()
    await signIn(page, (await signInLink()).replace(familiar.daemon.url, proxy.url))
    const words = count(400)
    fake.reply({ text: words, chunkSize: 20, chunkDelayMs: 20 })
    await say(page, 'Count')
    await log(page).getByText('word50 ').waitFor()
    proxy.cut()
    await page.getByText('Connection lost.').waitFor()
    // The reply continues meanwhile, and the page does not see it.
    await fake.until(() => fake.stats().inFlight === 0)
    proxy.mend()
    await finished(page).waitFor()
    await page.getByText('Connection lost.').waitFor({ state: 'detached' })
    expect(await log(page).locator('article p').allInnerTexts()).toEqual([words])
    expect(await log(page).getByText('Count', { exact: true }).count()).toBe(1)
    await proxy.close()
  })

  it('PAGE-2 two tabs show the same, while it streams and after', async () => {
    const { page, context, fake } = await openPage()
    fake.reply({ text: 'First.' })
    await say(page, 'Begin')
    await finished(page).waitFor()
    const other = await context.newPage()
    await other.goto(page.url())
    await finished(other).waitFor()
    const words = count(200)
    fake.reply({ text: words, chunkSize: 20, chunkDelayMs: 10 })
    await say(other, 'Count')
    await log(page).getByText('word20 ').waitFor()
    await finished(page).nth(1).waitFor()
    await finished(other).nth(1).waitFor()
    const shown = (tab: Page) => log(tab).locator('article p').allInnerTexts()
    expect(await shown(page)).toEqual(['First.', words])
    expect(await shown(other)).toEqual(['First.', words])
    expect(await log(page).getByText('Count', { exact: true }).count()).toBe(1)
  })

  it('PAGE-2 a daemon that is killed while a turn runs comes back, and the page shows the turn once', async () => {
    const fake = await startFakeModel()
    // As it does for a start: what the model says the second time is what counts.
    const words = count(60)
    fake.reply([{ text: count(10), chunkSize: 10, stallAfterChunks: 3 }, { text: words }])
    const daemon = await startPageDaemon(fake.url)
    const context = await (await openBrowser()).newContext()
    const problems = await watchContext(context, new Set([daemon.url]))
    const page = await context.newPage()
    await signIn(page, await daemon.signInLink())
    await say(page, 'Count')
    await log(page).getByText('word1').waitFor()
    await daemon.kill()
    await page.getByText('Connection lost.').waitFor()
    await daemon.start()
    await finished(page).getByText('word59').waitFor()
    const texts = (await log(page).locator('article p').allInnerTexts()).filter((text) => text.startsWith('word'))
    expect(texts).toEqual([words])
    expect(await log(page).getByText('Count', { exact: true }).count()).toBe(1)
    await page.reload()
    await finished(page).getByText('word59').waitFor()
    expect(await log(page).getByText('Count', { exact: true }).count()).toBe(1)
    await context.close()
    await fake.close()
    expect(problems).toEqual([])
  })
})
