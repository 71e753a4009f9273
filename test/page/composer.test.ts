import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openCuttingProxy } from './support/cutting-proxy.ts'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say, signIn } from './support/open-page.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const field = (page: Page) => page.getByRole('combobox', { name: 'Message' })
const attached = (page: Page) => page.getByRole('button', { name: /^Remove / })
const finished = (page: Page) => log(page).locator('article[aria-busy=false]')

/** In the page: files that are dragged over an element, or dropped or pasted there. */
const withFiles = `(types, target, files, text) => {
  const dataTransfer = new DataTransfer()
  for (const [name, bytes] of files) dataTransfer.items.add(new File([new Uint8Array(bytes)], name, { type: 'text/plain' }))
  if (text !== undefined) dataTransfer.setData('text/plain', text)
  for (const type of types) {
    const event = type === 'paste'
      ? new ClipboardEvent('paste', { clipboardData: dataTransfer, bubbles: true, cancelable: true })
      : new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true })
    document.querySelector(target).dispatchEvent(event)
  }
}`

const drag = (page: Page, types: string[], target: string, files: [name: string, bytes: number][]) =>
  page.evaluate(`(${withFiles})(${JSON.stringify(types)}, ${JSON.stringify(target)}, ${JSON.stringify(files)})`)

describePage('the message field', () => {
  it('PAGE-23 files are dropped anywhere on the chat, which shows where they will go', async () => {
    const { page, fake } = await openPage()
    await drag(page, ['dragenter', 'dragover'], 'main', [['list.txt', 3]])
    await page.getByText('Drop files to attach them').waitFor()
    await drag(page, ['dragleave'], 'main', [['list.txt', 3]])
    await page.getByText('Drop files to attach them').waitFor({ state: 'detached' })
    await drag(page, ['dragenter', 'drop'], 'nav', [['list.txt', 1_500]])
    await page.getByText('Drop files to attach them').waitFor({ state: 'detached' })
    await page.getByRole('list', { name: 'Attachments' }).getByText('1.5 kB').waitFor()
    expect(await findFaults(page)).toEqual([])
    fake.reply({ text: 'A list.' })
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await finished(page).waitFor()
    expect(fake.requests[0]?.bytes).toContain('list.txt')
  })

  it('PAGE-23 five hundred files and one that is too large are refused with the reason, and nothing is lost', async () => {
    const { page } = await openPage()
    await field(page).fill('Read these')
    const many = Array.from({ length: 500 }, (_, index): [string, number] => [`page-${index}.txt`, 1])
    await drag(page, ['drop'], 'main', many)
    await expect.poll(() => attached(page).count()).toBe(10)
    const refusal = page.getByRole('alert')
    await refusal
      .getByText(
        'A message can have 10 files. Not attached: page-10.txt, page-11.txt, page-12.txt, page-13.txt, page-14.txt and 485 more',
      )
      .waitFor()
    expect(await field(page).inputValue()).toBe('Read these')
    await refusal.getByRole('button', { name: 'Dismiss' }).click()
    for (let index = 9; index > 0; index -= 1) await attached(page).nth(index).click()
    await drag(page, ['drop'], 'main', [
      ['huge.txt', 21_000_000],
      ['half.txt', 12_000_000],
      ['other-half.txt', 12_000_000],
    ])
    await refusal.getByText('A file can have at most 20 MB. Not attached: huge.txt').waitFor()
    await refusal
      .getByText('The files of a message can have at most 20 MB together. Not attached: other-half.txt')
      .waitFor()
    await expect.poll(() => attached(page).count()).toBe(2)
  })

  it('PAGE-23 ten megabytes of pasted text become a file, and short text stays text', async () => {
    const { page } = await openPage()
    await page.evaluate(`(${withFiles})(['paste'], 'textarea[data-composer]', [], 'line of text\\n'.repeat(800_000))`)
    await page.getByRole('list', { name: 'Attachments' }).getByText('Pasted text.txt').waitFor()
    await page.getByRole('list', { name: 'Attachments' }).getByText('10 MB').waitFor()
    expect(await field(page).inputValue()).toBe('')
    await field(page).fill('short')
    expect(await attached(page).count()).toBe(1)
  })

  it('PAGE-23 the draft of each conversation, text and files, stays over a reload and in another conversation', async () => {
    const { page, fake, url } = await openPage()
    fake.respondWith(() => ({ text: 'Yes.' }))
    await say(page, 'First conversation')
    await finished(page).waitFor()
    const first = page.url()
    await field(page).fill('half a thought')
    await drag(page, ['drop'], 'main', [['notes.txt', 20]])
    await attached(page).waitFor()
    await page.getByRole('link', { name: 'New conversation' }).click()
    await page.waitForURL(`${url}/`)
    expect(await field(page).inputValue()).toBe('')
    expect(await attached(page).count()).toBe(0)
    await field(page).fill('something else')
    await page.goBack()
    await page.waitForURL(first)
    await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor()
    expect(await field(page).inputValue()).toBe('half a thought')
    await page.reload()
    await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor()
    expect(await field(page).inputValue()).toBe('half a thought')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await finished(page).nth(1).waitFor()
    await page.reload()
    await finished(page).nth(1).waitFor()
    expect(await field(page).inputValue()).toBe('')
    expect(await attached(page).count()).toBe(0)
  })

  it('PAGE-23 the up arrow in an empty field edits the last message, and moves in a text as always', async () => {
    const { page, fake } = await openPage()
    fake.respondWith(() => ({ text: 'Yes.' }))
    await say(page, 'An older message')
    await finished(page).waitFor()
    await say(page, 'The lst message')
    await finished(page).nth(1).waitFor()
    await page.getByRole('button', { name: 'Edit' }).nth(1).waitFor()
    await field(page).fill('typed')
    await field(page).press('ArrowUp')
    expect(await page.getByRole('dialog').count()).toBe(0)
    await field(page).fill('')
    await field(page).press('ArrowUp')
    const dialog = page.getByRole('dialog', { name: 'Edit message' })
    expect(await dialog.getByRole('textbox').inputValue()).toBe('The lst message')
    await dialog.getByRole('textbox').fill('The last message')
    await dialog.getByRole('button', { name: 'Send' }).click()
    await log(page).getByText('The last message').waitFor()
    await log(page).getByText('An older message').waitFor()
  })

  it('PAGE-23 a long upload shows its progress and the names of its files', async () => {
    const { fake, familiar, newContext, signInLink } = await openPage()
    const proxy = await openCuttingProxy(familiar.daemon.url, { pauseMs: 20 })
    const page = await (await newContext({ origins: [proxy.url] })).newPage()
    await signIn(page, (await signInLink()).replace(familiar.daemon.url, proxy.url))
    fake.reply({ text: 'A large file.' })
    await drag(page, ['drop'], 'main', [['large.txt', 8_000_000]])
    await attached(page).waitFor()
    await field(page).fill('Read it')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await log(page).getByText('large.txt').waitFor()
    await log(page)
      .getByText(/^Sending [1-9]\d?%/)
      .waitFor()
    await finished(page).waitFor()
    await log(page)
      .getByText(/^Sending/)
      .waitFor({ state: 'detached' })
    expect(await log(page).getByText('Read it', { exact: true }).count()).toBe(1)
    await proxy.close()
  })

  it('PAGE-23 a conversation is copied as Markdown, and Ctrl+/ lists the shortcuts', async () => {
    const { fake, newContext, signInLink } = await openPage()
    const page = await (await newContext({ permissions: ['clipboard-read', 'clipboard-write'] })).newPage()
    await page.goto(await signInLink())
    fake.reply({ text: 'It is **four**.' })
    await say(page, 'Two and two?')
    await finished(page).waitFor()
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Copy as Markdown' }).click()
    await page.getByText('Conversation copied as Markdown').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      '# Two and two?\n\n## You\n\nTwo and two?\n\n## Familiar\n\nIt is **four**.\n',
    )
    await field(page).press('Control+/')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Edit your last message').waitFor()
  })
})
