import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterEach, expect, it } from 'vitest'
import { cleanUp } from '../e2e/cli-process.ts'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import type { Step } from '../support/fake-model/step.ts'
import { openBrowser } from './support/chromium.ts'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say, signIn } from './support/open-page.ts'
import { startPageDaemon } from './support/page-daemon.ts'
import { watchContext } from './support/watch-page.ts'

const canary = 'canary-7c1e'

/** Everything that a page sends, word for word. */
function watchSent(page: Page): string[] {
  const sent: string[] = []
  page.context().on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
  return sent
}

const resultsIn = (sent: readonly string[]) => sent.filter((one) => one.includes('/tool-results'))

const answered = (page: Page, text: string) => page.getByRole('log').getByText(text, { exact: true }).waitFor()

async function switchOn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Private notes: off' }).click()
  await page.getByRole('checkbox', { name: 'Let Familiar use them in chat' }).check()
  await page.keyboard.press('Escape')
}

async function keep(page: Page, title: string, content: string): Promise<void> {
  await page.getByRole('button', { name: 'New note' }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill(title)
  await page.getByRole('textbox', { name: 'Content' }).fill(content)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: title, exact: true }).waitFor()
}

function saving(title: string, content: string): Step {
  const input = { title, content, category: 'personal', priority: 9 }
  return { text: '', toolCalls: [{ name: 'save_memory', input }] }
}

const deleting = (memory_title: string): Step => ({
  text: '',
  toolCalls: [{ name: 'delete_memory', input: { memory_title, reason: 'asked' } }],
})

describePage('the browser’s own memory', () => {
  afterEach(cleanUp)

  it('CLIENT-2 while it is off, Familiar learns nothing of it', async () => {
    const { page, fake } = await openPage({ path: '/private-memory' })
    await keep(page, 'Diary', canary)
    const sent = watchSent(page)
    await page.getByRole('link', { name: 'Familiar', exact: true }).click()
    fake.reply({ text: 'Hello.' })
    await say(page, 'Hi')
    await answered(page, 'Hello.')
    expect(sent.join('\n')).not.toMatch(/client_tools|canary/)
    expect(JSON.stringify(fake.requests)).not.toMatch(/browser_memory|canary/)
  })

  it('CLIENT-1 CLIENT-2 CLIENT-3 Familiar saves an entry once with two tabs open, and confirms it', async () => {
    const { page, context, fake, url } = await openPage()
    const sent = watchSent(page)
    await switchOn(page)
    fake.reply({ text: 'Hello.' })
    await say(page, 'Hi')
    await answered(page, 'Hello.')
    const other = await context.newPage()
    await other.goto(page.url())
    await answered(other, 'Hello.')

    await page.evaluate(
      `changes = 0; heard = new BroadcastChannel('familiar.private-memory'); heard.onmessage = () => { changes += 1 }`,
    )
    fake.reply([saving('User name is John', 'The user’s name is John.'), { text: 'It is saved.' }])
    await say(page, 'Keep my name in my browser: John')
    await answered(page, 'It is saved.')
    await answered(other, 'It is saved.')
    expect(resultsIn(sent)).toHaveLength(1)
    expect(await page.evaluate('changes')).toBe(1)
    expect(JSON.stringify(fake.requests.at(-1))).toContain('Saved in the user’s browser.')

    // The new name takes the place of the old one, and of nothing else.
    fake.reply([saving('User name is Jane', 'The user’s name is Jane.'), { text: 'Jane it is.' }])
    await say(page, 'No, Jane')
    await answered(page, 'Jane it is.')
    await page.goto(`${url}/private-memory`)
    await page.getByRole('heading', { name: 'User name is Jane' }).waitFor()
    await page.getByText('written by Familiar').waitFor()
    expect(await page.getByRole('heading', { name: 'User name is John' }).count()).toBe(0)
    expect(await page.getByRole('checkbox', { name: 'Share with Familiar: User name is Jane' }).isChecked()).toBe(true)
  })

  it('CLIENT-2 entries of the user stay, Familiar can delete its own, and only shared entries are read', async () => {
    const { page, fake, url } = await openPage({ path: '/private-memory' })
    const sent = watchSent(page)
    await keep(page, 'Diary', canary)
    await keep(page, 'Tea', 'Green, no sugar.')
    await page.getByRole('checkbox', { name: 'Share with Familiar: Tea' }).check()
    await page.getByRole('link', { name: 'Familiar', exact: true }).click()
    await switchOn(page)

    fake.reply([deleting('Diary'), { text: 'That is yours.' }])
    await say(page, 'Delete my diary')
    await answered(page, 'That is yours.')
    fake.reply([saving('Plan', 'To Gozo.'), deleting('Plan'), { text: 'Saved and gone.' }])
    await say(page, 'Save the plan, and delete it again')
    await answered(page, 'Saved and gone.')
    fake.reply([{ text: '', toolCalls: [{ name: 'read_browser_memory', input: {} }] }, { text: 'Green tea.' }])
    await say(page, 'Which tea do I like?')
    await answered(page, 'Green tea.')
    expect(JSON.stringify(fake.requests.at(-1))).toContain('Green, no sugar.')
    expect(JSON.stringify(fake.requests) + sent.join('\n')).not.toContain(canary)

    await page.goto(`${url}/private-memory`)
    await page.getByRole('heading', { name: 'Diary' }).waitFor()
    expect(await page.getByRole('heading', { name: 'Plan' }).count()).toBe(0)
  })

  it('CLIENT-2 a note that Familiar saved is read in the next conversation after one consent, until it is revoked', async () => {
    const { page, fake, url } = await openPage()
    await switchOn(page)
    fake.reply([saving('Gate code', canary), { text: 'It is saved.' }])
    await say(page, 'Keep the code of the gate in my browser')
    await answered(page, 'It is saved.')
    const reading: Step = { text: '', toolCalls: [{ name: 'read_browser_memory', input: {} }] }

    // Two more conversations, and a browser that was started again: nothing is asked.
    for (const answer of ['It is the saved one.', 'Still the same.']) {
      await page.goto(`${url}/`)
      fake.reply([reading, { text: answer }])
      await say(page, 'What is the code of the gate?')
      await answered(page, answer)
      expect(fake.requests.at(-1)?.bytes).toContain(canary)
      expect(await page.getByRole('dialog').count()).toBe(0)
      expect(await page.getByRole('button', { name: /allow|approve/i }).count()).toBe(0)
    }

    await page.goto(`${url}/settings/permissions`)
    const revoke = page.getByRole('button', { name: 'Revoke Private notes → this browser' })
    await revoke.waitFor()
    expect(await findFaults(page)).toEqual([])
    await revoke.click()
    await page.getByText('Revoked').waitFor()
    await page.goto(`${url}/`)
    await page.getByRole('button', { name: 'Private notes: off' }).waitFor()
    const earlier = fake.requests.length
    fake.reply({ text: 'I do not know it.' })
    await say(page, 'And now?')
    await answered(page, 'I do not know it.')
    expect(JSON.stringify(fake.requests.slice(earlier))).not.toMatch(/browser_memory|canary/)

    // The consent counts for all of Familiar's notes again, and a note can be kept out of it.
    await switchOn(page)
    await page.goto(`${url}/private-memory`)
    await page.getByRole('checkbox', { name: 'Share with Familiar: Gate code' }).uncheck()
    await page.goto(`${url}/`)
    fake.reply({ text: 'I still do not know it.' })
    await say(page, 'And now again?')
    await answered(page, 'I still do not know it.')
    expect(fake.requests.at(-1)?.bytes).not.toContain('read_browser_memory')
  })

  it('CLIENT-2 a consent of an earlier version covers the notes of Familiar only after one more click', async () => {
    const { page, fake, url } = await openPage()
    await page.evaluate(() => {
      const on = Object.keys(localStorage).find((key) => key.startsWith('familiar.private-memory.on.'))
      if (on) throw new Error('It is on.')
    })
    await switchOn(page)
    // As it was stored before.
    await page.evaluate(() => {
      for (const key of Object.keys(localStorage)) {
        if (key.startsWith('familiar.private-memory.on.')) localStorage.setItem(key, 'yes')
      }
    })
    await page.reload()
    fake.reply([saving('Gate code', canary), { text: 'It is saved.' }])
    await say(page, 'Keep the code of the gate in my browser')
    await answered(page, 'It is saved.')
    await page.goto(`${url}/private-memory`)
    const share = page.getByRole('checkbox', { name: 'Share with Familiar: Gate code' })
    expect(await share.isChecked()).toBe(false)
    await page.getByRole('button', { name: 'Let Familiar read the notes it saved' }).click()
    await expect.poll(() => share.isChecked()).toBe(true)
    expect(await page.getByRole('button', { name: 'Let Familiar read the notes it saved' }).count()).toBe(0)
  })

  it('CLIENT-1 CLIENT-2 an edited message can use it as well', async () => {
    const { page, fake, url } = await openPage()
    await switchOn(page)
    fake.reply({ text: 'Hello.' })
    await say(page, 'Hi')
    await answered(page, 'Hello.')
    fake.reply([saving('Tea', 'Green.'), { text: 'It is saved.' }])
    await page.getByRole('log').getByText('Hi', { exact: true }).hover()
    await page.getByRole('log').getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('Keep my tea in my browser: green')
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await answered(page, 'It is saved.')
    await page.goto(`${url}/private-memory`)
    await page.getByRole('heading', { name: 'Tea' }).waitFor()
  })

  it('CLIENT-1 PAGE-2 a daemon that is killed while it waits for the browser gets the result, once', async () => {
    const fake = await startFakeModel()
    fake.respondWith(({ bytes }) =>
      bytes.includes('Saved in the user’s browser.') ? { text: 'It is saved.' } : saving('Tea', 'Green.'),
    )
    const daemon = await startPageDaemon(fake.url)
    const context = await (await openBrowser()).newContext()
    const problems = await watchContext(context, new Set([daemon.url]))
    const page = await context.newPage()
    await signIn(page, await daemon.signInLink())
    await switchOn(page)
    let tries = 0
    await context.route('**/tool-results', (route) => {
      tries += 1
      return route.abort()
    })
    await say(page, 'Keep my tea in my browser: green')
    await expect.poll(() => tries).toBeGreaterThan(0)
    await daemon.kill()
    await page.getByText('Connection lost.').waitFor()
    await context.unroute('**/tool-results')
    await daemon.start()
    await answered(page, 'It is saved.')
    await page.reload()
    await answered(page, 'It is saved.')
    expect(fake.requests.filter(({ bytes }) => bytes.includes('Saved in the user’s browser.'))).toHaveLength(1)
    await page.goto(`${daemon.url}/private-memory`)
    await page.getByRole('heading', { name: 'Tea' }).waitFor()
    expect(await page.getByRole('heading', { name: 'Tea' }).count()).toBe(1)
    await context.close()
    await fake.close()
    expect(problems).toEqual([])
  })

  it('CLIENT-2 another browser of the user does not see it', async () => {
    const { page, fake, newContext, signInLink, url } = await openPage()
    await switchOn(page)
    fake.reply({ text: 'Hello.' })
    await say(page, 'Hi')
    await answered(page, 'Hello.')
    const phone = await (await newContext()).newPage()
    const sent = watchSent(phone)
    await signIn(phone, await signInLink(), new URL(page.url()).pathname)
    await switchOn(phone)
    await answered(phone, 'Hello.')
    fake.reply([saving('Tea', 'Green.'), { text: 'It is saved.' }])
    await say(page, 'Keep it in my browser')
    await answered(phone, 'It is saved.')
    expect(resultsIn(sent)).toEqual([])
    await phone.goto(`${url}/private-memory`)
    await phone.getByText('No private notes yet').waitFor()
  })

  it('CLIENT-2 entries are searched, edited, deleted, restored, exported and imported', async () => {
    const { page, newContext, signInLink } = await openPage({ path: '/private-memory' })
    await keep(page, 'Tea', 'Green, <b>no</b> sugar.')
    await keep(page, 'Router', 'Behind the shelf.')
    await page.getByRole('searchbox', { name: 'Search', exact: true }).fill('sugar green')
    await page.getByRole('heading', { name: 'Router' }).waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('heading', { name: 'Tea' }).waitFor()
    expect(await page.getByRole('heading', { name: 'Router' }).count()).toBe(0)
    await page.getByRole('searchbox', { name: 'Search', exact: true }).fill('')

    await page.getByRole('button', { name: 'Actions for Router' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    expect(await findFaults(page)).toEqual([])
    await page.getByRole('textbox', { name: 'Content' }).fill('In the cellar.')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('In the cellar.').waitFor()
    await page.getByRole('button', { name: 'Actions for Tea' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Tea' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('heading', { name: 'Tea' }).waitFor()

    expect(await findFaults(page)).toEqual([])
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    const file = await (await saved).path()
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ entries: [{}, {}] })
    const other = await (await newContext()).newPage()
    await signIn(other, await signInLink(), '/private-memory')
    await other.getByLabel('File to import').setInputFiles(file)
    await other.getByText('Imported 2 of 2 notes').waitFor()
    await other.getByText('<b>no</b>').waitFor()
  })
})
