import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say } from './support/open-page.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
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

/** Screenshots for a person to look at, if a folder is named. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.ASKS_PICTURES
  if (!folder) return
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png` })
    }
  }
  await page.setViewportSize({ width: 1180, height: 760 })
}

describePage('questions in the page', () => {
  it('LOOP-4a an option is chosen with a button, is the user’s message, and stays chosen after a reload', async () => {
    const { page, fake } = await openPage()
    fake.reply([asks, { text: 'The late one, then.' }])
    await say(page, 'Book it')
    const options = log(page).getByRole('region', { name: 'Options' })
    await options.getByRole('button', { name: 'The early one' }).getByText('7:12, one change').waitFor()
    await options.getByText('Or type your own answer.').waitFor()
    expect(await findFaults(page)).toEqual([])
    await picture(page, 'options-open')
    const late = options.getByRole('button', { name: 'The late one' })
    await late.focus()
    await page.keyboard.press('Enter')
    await log(page).getByText('The late one, then.').waitFor()
    expect(JSON.stringify(fake.requests.at(-1)?.bytes)).toContain('The user chose: The late one')
    await picture(page, 'options-answered')
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
})
