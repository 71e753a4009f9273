import type { Page } from 'playwright-core'
import { afterEach, expect, it } from 'vitest'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'
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
  return (await page.evaluate(`(() => {
    const element = document.activeElement
    const label = element?.labels?.[0]?.innerText
    return (element?.getAttribute('aria-label') ?? label ?? element?.innerText ?? '').trim()
  })()`)) as string
}

const providerKey = 'sk-of-the-keyboard-0123456789'
const providers: FakeModel[] = []
afterEach(async () => {
  await Promise.all(providers.splice(0).map((provider) => provider.close()))
})

/** Goes there and presses Enter. */
async function press(page: Page, wanted: RegExp, key = 'Tab'): Promise<void> {
  await tabTo(page, wanted, key)
  await page.keyboard.press('Enter')
}

/** Types into the message field, which has the focus or is reached from where the focus is. */
async function write(page: Page, text: string): Promise<void> {
  await tabTo(page, /^Message$/)
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

describePage('the keyboard alone', () => {
  it('PAGE-4 connects a model, talks, approves, searches, branches, deletes and undoes', async () => {
    const letters: unknown[] = []
    const post = toolOf(
      'post_letter',
      async (input) => {
        letters.push(input)
        return said('Posted.')
      },
      { reach: () => ({ kind: 'send', destination: 'https://mail.example' }) },
    )
    const { page } = await openPage({ model: 'none', daemon: { extraTools: [post] } })
    const provider = await startFakeModel({ key: providerKey, models: ['big-model'] })
    providers.push(provider)
    const shown = (text: string) => log(page).getByText(text, { exact: true })
    const isDone = () => expect.poll(() => page.locator('article[aria-busy=true]').count()).toBe(0)

    // Connects a model.
    await page.getByRole('radio').first().waitFor()
    await tabTo(page, /^Anthropic/)
    await page.keyboard.press('ArrowUp')
    await tabTo(page, /^Address/)
    await page.keyboard.type(`${provider.url}/v1`)
    await tabTo(page, /^API key/)
    await page.keyboard.type(providerKey)
    await tabTo(page, /^I trust/)
    await page.keyboard.press('Space')
    await press(page, /^Test$/)
    await expect.poll(() => focused(page)).toBe('Model')
    await press(page, /^Save$/)
    await page.getByText('local/big-model answers from now on.').waitFor()

    // Talks.
    provider.reply({ text: 'Good morning to you.' })
    await expect.poll(() => focused(page)).toBe('Message')
    await write(page, 'Good morning')
    await shown('Good morning to you.').waitFor()
    await isDone()

    // Approves.
    provider.reply([
      { text: 'I have a letter.', toolCalls: [{ name: 'post_letter', input: { to: 'bob@mail.example' } }] },
      // The model makes the same call again once it is allowed.
      { text: '', toolCalls: [{ name: 'post_letter', input: { to: 'bob@mail.example' } }] },
      { text: 'The letter is sent.' },
    ])
    await write(page, 'Write to Bob')
    await log(page).getByRole('region', { name: 'Approval needed' }).waitFor()
    await press(page, /^Allow once$/, 'Shift+Tab')
    await shown('The letter is sent.').waitFor()
    expect(letters).toHaveLength(1)
    await isDone()

    // Branches: the edited message has another answer, and the first one is still there.
    provider.reply({ text: 'Good evening to you.' })
    await press(page, /^Edit$/, 'Shift+Tab')
    await page.getByRole('dialog').getByRole('textbox').waitFor()
    await page.keyboard.press('Control+a')
    await page.keyboard.type('Write to Ann')
    await press(page, /^Send$/)
    await shown('Good evening to you.').waitFor()
    await isDone()
    await press(page, /^Previous version/, 'Shift+Tab')
    await shown('The letter is sent.').waitFor()
    await press(page, /^Next version/)
    await shown('Good evening to you.').waitFor()

    // Searches.
    const here = page.url()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Quick search' }).waitFor()
    await page.keyboard.type('sched')
    await page.getByRole('option', { name: 'Schedules', exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Schedules' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('good morning')
    await page
      .getByRole('option', { name: /Good morning/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.pathname === new URL(here).pathname)
    await shown('Good evening to you.').waitFor()
    await isDone()

    // Deletes, and undoes it.
    await press(page, /^Delete$/, 'Shift+Tab')
    await shown('Good evening to you.').waitFor({ state: 'detached' })
    await press(page, /^Undo$/)
    await shown('Good evening to you.').waitFor()
  })

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
    await tabTo(page, /^Title$/)
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
