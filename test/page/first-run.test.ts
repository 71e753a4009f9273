import type { Page } from 'playwright-core'
import { afterEach, expect, it } from 'vitest'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say } from './support/open-page.ts'
import { settle } from './support/walk-screens.ts'

const providers: FakeModel[] = []
afterEach(async () => {
  await Promise.all(providers.splice(0).map((provider) => provider.close()))
})

const key = 'sk-of-the-first-run-0123456789'

async function startProvider(): Promise<FakeModel> {
  const provider = await startFakeModel({ key, models: ['big-model', 'small-model'] })
  providers.push(provider)
  return provider
}

const hostOf = (provider: FakeModel) => new URL(provider.url).host
const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const banner = (page: Page) => page.getByRole('note').getByText('No model is connected.')

/** The accessible name of what has the focus. */
async function focused(page: Page): Promise<string> {
  return (await page.evaluate(`(() => {
    const element = document.activeElement
    const label = element?.labels?.[0]?.innerText
    return (element?.getAttribute('aria-label') ?? label ?? element?.innerText ?? '').trim()
  })()`)) as string
}

async function tabTo(page: Page, wanted: RegExp, press = 'Tab'): Promise<void> {
  for (let pressed = 0; pressed < 80; pressed += 1) {
    if (wanted.test(await focused(page))) return
    await page.keyboard.press(press)
  }
  throw new Error(`the focus never came to ${wanted}`)
}

/** Fills in the form for another server, up to its test. */
async function describeServer(page: Page, provider: FakeModel, apiKey: string): Promise<void> {
  await page.getByRole('radio', { name: 'Another server' }).check({ force: true })
  await page.getByLabel('Address').fill(`${provider.url}/v1`)
  await page.getByLabel('API key (optional)').fill(apiKey)
  await page.getByLabel(`I trust ${hostOf(provider)}.`).check()
  await page.getByRole('button', { name: 'Test' }).click()
}

describePage('the first run', () => {
  it('SETUP-1 PAGE-4 by keyboard alone a model is connected on the first screen, and answers', async () => {
    const { page, familiar } = await openPage({ model: 'none' })
    const provider = await startProvider()
    await page.getByRole('heading', { name: 'Connect a model' }).waitFor()
    await page.getByRole('radio').first().waitFor()
    await tabTo(page, /^Anthropic/)
    await page.keyboard.press('ArrowUp')
    await tabTo(page, /^Address/)
    await page.keyboard.type(`${provider.url}/v1`)
    await tabTo(page, /^API key/)
    await page.keyboard.type(key)
    await tabTo(page, /^I trust/)
    await page.keyboard.press('Space')
    await tabTo(page, /^Test$/)
    await page.keyboard.press('Enter')
    // The focus is at the models.
    await expect.poll(() => focused(page)).toBe('Model')
    await page.keyboard.type('small')
    await tabTo(page, /^Save$/)
    await page.keyboard.press('Enter')
    await page.getByText('local/small-model answers from now on.').waitFor()
    await page.getByRole('heading', { name: 'Connect a model' }).waitFor({ state: 'detached' })
    provider.reply({ text: 'Good morning from the model.' })
    await expect.poll(() => focused(page)).toBe('Message')
    await page
      .getByRole('combobox', { name: 'Model' })
      .getByText('local/small-model (default)')
      .waitFor({ state: 'attached' })
    await page.keyboard.type('Good morning')
    await page.keyboard.press('Enter')
    await log(page).getByText('Good morning from the model.').waitFor()
    expect(await banner(page).count()).toBe(0)
    expect(provider.requests.map(({ body }) => body.model)).toEqual(['small-model', 'small-model'])
    expect(familiar.daemon.model()).toBe('local/small-model')
  })

  it('SETUP-1 a wrong key is reported in words, and nothing is saved', async () => {
    const { page, familiar } = await openPage({ model: 'none', path: '/models' })
    const provider = await startProvider()
    await describeServer(page, provider, 'sk-wrong')
    await page.getByRole('alert').getByText('rejected the key (HTTP 401)').waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0)
    expect(familiar.daemon.model()).toBe('offline/offline')
    expect(await findFaults(page)).toEqual([])
    // The address must be trusted before anything is sent there.
    await page.getByLabel(`I trust ${hostOf(provider)}.`).uncheck()
    expect(await page.getByRole('button', { name: 'Test' }).isDisabled()).toBe(true)
    await page.getByLabel(`I trust ${hostOf(provider)}.`).check()
    await page.getByLabel('API key (optional)').fill(key)
    await page.getByRole('button', { name: 'Test' }).click()
    await page.getByText('It works. 2 models found.').waitFor()
    expect(await findFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('local/big-model answers from now on.').waitFor()
    await page.getByText('in use').waitFor()
    expect(await page.content()).not.toContain(key)
  })

  it('SETUP-3 without a model every conversation says so, and the sample prompts work', async () => {
    const { page, url } = await openPage({ model: 'none' })
    const prompts = page.getByRole('listitem').getByRole('button', { name: '“' })
    await page.getByRole('button', { name: 'Add sample memories' }).click()
    await page.getByText('Sample memories added.').waitFor()
    await page.getByRole('button', { name: 'Remove sample memories' }).waitFor()
    const texts = await prompts.allTextContents()
    expect(texts.length).toBeGreaterThan(3)
    for (const text of texts) {
      await page.goto(url)
      await page.getByRole('button', { name: text }).click()
      await log(page).getByText(text.slice(1, -1), { exact: true }).first().waitFor()
      await banner(page).waitFor()
      const answer = page.locator('article[data-newest=true][aria-busy=false]')
      await answer.waitFor()
      expect(await answer.textContent(), text).not.toMatch(/need a language model|did not understand|no exact match/)
    }
    await page.getByRole('link', { name: 'Connect a model' }).click()
    await page.getByRole('radio', { name: 'Anthropic' }).waitFor()
    await page.goto(url)
    await page.getByRole('button', { name: 'Remove sample memories' }).click()
    await page.getByText('Sample memories removed').waitFor()
    for (const tab of ['timeline', 'facts']) {
      await page.goto(`${url}/memory?tab=${tab}`)
      await settle(page)
      await expect
        .poll(() =>
          page
            .getByRole('tabpanel')
            .getByText(/shellfish|Leipzig/)
            .count(),
        )
        .toBe(0)
    }
  })

  it('SEC-4a behind a proxy the page names the command instead of the form', async () => {
    const { page } = await openPage({
      model: 'none',
      context: { extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.9' } },
    })
    await page.getByText('familiar setup').waitFor()
    expect(await page.getByRole('radio').count()).toBe(0)
    await say(page, 'Hello')
    await banner(page).waitFor()
  })
})
