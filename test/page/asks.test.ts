import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say } from './support/open-page.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const hasFocus = (page: Page) =>
  page.getByRole('combobox', { name: 'Message' }).evaluate((field) => field.matches(':focus'))
const asks = {
  toolCalls: [
    {
      name: 'ask_user',
      input: {
        question: 'Which train do you take?',
        options: [
          { label: 'The early one', description: '7:12, one change' },
          { label: 'The late one' },
          { label: 'None' },
        ],
      },
    },
  ],
}

describePage('questions in the page', () => {
  it('LOOP-4a PAGE-4 an option is chosen with a button, is the user’s message, and stays chosen after a reload', async () => {
    const { page, fake } = await openPage()
    fake.reply([asks, { text: 'The late one, then.' }])
    await say(page, 'Book it')
    const options = log(page).getByRole('region', { name: 'Options' })
    await options.getByRole('button', { name: 'The early one' }).getByText('7:12, one change').waitFor()
    await options.getByText('Or type your own answer.').waitFor()
    expect(await findFaults(page)).toEqual([])
    const late = options.getByRole('button', { name: 'The late one' })
    await late.focus()
    await page.keyboard.press('Enter')
    await log(page).getByText('The late one, then.').waitFor()
    await expect.poll(() => hasFocus(page)).toBe(true)
    expect(JSON.stringify(fake.requests.at(-1)?.bytes)).toContain('The user chose: The late one')
    for (const isReloaded of [false, true]) {
      if (isReloaded) await page.reload()
      await log(page).getByText('The late one', { exact: true }).nth(1).waitFor()
      expect(await late.getAttribute('aria-pressed')).toBe('true')
      expect(await options.getByRole('button', { disabled: true }).count()).toBe(3)
    }
  })

  it('LOOP-4a several options are marked and sent together; a second tab shows them as answered', async () => {
    const { page, context, fake } = await openPage()
    const input = { ...asks.toolCalls[0]?.input, multiple: true, allow_text: false }
    fake.reply([{ toolCalls: [{ name: 'ask_user', input }] }, { text: 'Noted.' }])
    await say(page, 'Book it')
    const options = log(page).getByRole('region', { name: 'Options' })
    await options.getByRole('button', { name: 'None' }).click()
    await options.getByRole('button', { name: 'The early one' }).click()
    const other = await context.newPage()
    await other.goto(page.url())
    await log(other).getByRole('region', { name: 'Options' }).waitFor()
    await options.getByRole('button', { name: 'Send' }).click()
    await log(page).getByText('The early one, None').waitFor()
    await log(page).getByText('Noted.').waitFor()
    await log(other).getByRole('button', { name: 'None', disabled: true, pressed: true }).waitFor()
  })

  const open = async () => {
    const sent: unknown[] = []
    const post = toolOf(
      'post_letter',
      async (input) => {
        sent.push(input)
        return said('Posted.')
      },
      { reach: () => ({ kind: 'send', destination: 'https://mail.example' }) },
    )
    const opened = await openPage({ daemon: { extraTools: [post] } })
    opened.fake.respondWith(({ bytes }) => {
      const isAnswered = /Posted\.|The user denied/.test(bytes.slice(bytes.lastIndexOf('Write to Bob')))
      const input = { to: 'bob@mail.example', body: 'Hello Bob,\nsee you on Friday.' }
      return isAnswered ? { text: 'Right.' } : { text: 'I have a letter.', toolCalls: [{ name: 'post_letter', input }] }
    })
    await say(opened.page, 'Write to Bob')
    return { ...opened, sent, asked: log(opened.page).getByRole('region', { name: 'Approval needed' }) }
  }

  it('SEC-16 PAGE-4 an approval is a sentence with four answers; one is given by keyboard, and stays after a reload', async () => {
    const { page, asked, sent } = await open()
    await asked.getByText('Let post_letter send this to mail.example?').waitFor()
    expect(await asked.locator('strong').allTextContents()).toEqual(['post_letter', 'mail.example'])
    const names = ['Allow once', 'Allow in this conversation', 'Always allow post_letter → mail.example', 'Deny']
    expect(await asked.getByRole('button').allTextContents()).toEqual(names)
    await asked.getByText('Details').click()
    await asked.getByRole('row', { name: 'to bob@mail.example' }).waitFor()
    expect(await findFaults(page)).toEqual([])
    expect(await log(page).textContent()).not.toMatch(/Not done|The user|\{|Wants to|It would send/)
    await asked.getByRole('button', { name: 'Allow in this conversation' }).focus()
    await page.keyboard.press('Enter')
    await log(page).getByText('Right.').waitFor()
    await expect.poll(() => hasFocus(page)).toBe(true)
    expect(sent).toHaveLength(1)
    for (const isReloaded of [false, true]) {
      if (isReloaded) await page.reload()
      await log(page)
        .getByText(/^Allowed in this conversation by you, \d{1,2}:\d\d [AP]M$/)
        .waitFor()
      await log(page).getByRole('region', { name: 'Approval', exact: true }).waitFor()
      expect(await asked.count()).toBe(0)
      expect(await log(page).textContent()).not.toContain('The user approved')
    }
    await say(page, 'Write to Bob again')
    await log(page).getByText('Right.').nth(1).waitFor()
    expect(await asked.count()).toBe(0)
  })

  it('SEC-16 a denial, and an answer in words or elsewhere, are shown in every tab', async () => {
    const { page, asked, sent, context } = await open()
    await asked.waitFor()
    const other = await context.newPage()
    await other.goto(page.url())
    await log(other).getByRole('region', { name: 'Approval needed' }).getByRole('button', { name: 'Deny' }).click()
    for (const tab of [page, other])
      await log(tab)
        .getByText(/^Denied by you, /)
        .waitFor()
    expect(await asked.count()).toBe(0)
    await say(page, 'Write to Bob')
    await asked.waitFor()
    await say(page, '3')
    await say(page, 'yes, always')
    await log(page)
      .getByText(/^Always allowed by you, /)
      .waitFor()
    expect(sent).toHaveLength(1)
  })
})
