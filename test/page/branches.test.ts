import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { type OpenedPage, openPage, say } from './support/open-page.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const press = (page: Page, name: string) => log(page).getByRole('button', { name, exact: true }).last().click()
const shown = (page: Page, text: string) => log(page).getByText(text, { exact: true })

/** Answers with the number of the call. */
function numbered(fake: OpenedPage['fake']): void {
  let calls = 0
  fake.respondWith(() => {
    calls += 1
    return { text: `Answer ${calls}.` }
  })
}

describePage('branches in a conversation', () => {
  it('SESS-11 PAGE-12 PAGE-4 an answer is made again, and its versions are switched, also in another tab and after a reload', async () => {
    const { page, fake } = await openPage()
    numbered(fake)
    await say(page, 'Tell me of Ghent')
    await shown(page, 'Answer 1.').waitFor()
    const place = page.url()
    await press(page, 'Regenerate')
    await shown(page, 'Answer 2.').waitFor()
    await shown(page, 'Answer 1.').waitFor({ state: 'detached' })
    expect(page.url()).toBe(place)
    const versions = (at: Page) => log(at).getByRole('group', { name: 'Versions of this answer' })
    await versions(page).getByText('2/2').waitFor()
    const other = await page.context().newPage()
    await other.goto(place)
    await shown(other, 'Answer 2.').waitFor()

    await versions(page).getByRole('button', { name: 'Previous version' }).focus()
    await page.keyboard.press('Enter')
    for (const tab of [page, other]) {
      await shown(tab, 'Answer 1.').waitFor()
      await shown(tab, 'Answer 2.').waitFor({ state: 'detached' })
      await versions(tab).getByText('1/2').waitFor()
    }
    const isFocused = () =>
      versions(page)
        .getByRole('button', { name: 'Previous version' })
        .evaluate((button) => button.matches(':focus'))
    await expect.poll(isFocused).toBe(true)
    await say(page, 'And of Bruges?')
    await shown(page, 'Answer 3.').waitFor()
    const sent = fake.requests.at(-1)?.bytes ?? ''
    expect(sent).toContain('Answer 1.')
    expect(sent).not.toContain('Answer 2.')
    await page.reload()
    await shown(page, 'Answer 3.').waitFor()
    await versions(page).getByRole('button', { name: 'Next version' }).click()
    await shown(page, 'Answer 2.').waitFor()
    expect(await shown(page, 'And of Bruges?').count()).toBe(0)
    await versions(page).getByRole('button', { name: 'Previous version' }).click()
    await shown(page, 'Answer 3.').waitFor()
    expect(await shown(page, 'And of Bruges?').count()).toBe(1)
  })

  it('SESS-11 PAGE-12 an edited message is a version of it in the same conversation', async () => {
    const { page, fake, familiar } = await openPage()
    fake.respondWith(({ lastUserText }) => ({ text: lastUserText.includes('Bruges') ? 'Canals.' : 'Three towers.' }))
    await say(page, 'Tell me of Ghent')
    await shown(page, 'Three towers.').waitFor()
    await press(page, 'Edit')
    const dialog = page.getByRole('dialog', { name: 'Edit message' })
    await dialog.getByRole('textbox').fill('Tell me of Bruges')
    await dialog.getByRole('button', { name: 'Send' }).click()
    await shown(page, 'Canals.').waitFor()
    expect(await shown(page, 'Tell me of Ghent').count()).toBe(0)
    const versions = log(page).getByRole('group', { name: 'Versions of this message' })
    await versions.getByText('2/2').waitFor()
    expect(await findFaults(page)).toEqual([])
    await versions.getByRole('button', { name: 'Previous version' }).click()
    await shown(page, 'Three towers.').waitFor()
    await shown(page, 'Tell me of Ghent').waitFor()
    const reply = await familiar.request('GET', '/api/v1/sessions')
    expect(((await reply.json()) as { sessions: unknown[] }).sessions).toHaveLength(1)
  })

  it('SESS-11 PAGE-12 a deleted message is gone with what followed, and comes back with Undo', async () => {
    const { page, fake } = await openPage()
    numbered(fake)
    await say(page, 'One')
    await shown(page, 'Answer 1.').waitFor()
    await say(page, 'Two')
    await shown(page, 'Answer 2.').waitFor()
    await press(page, 'Delete')
    await shown(page, 'Two').waitFor({ state: 'detached' })
    expect(await shown(page, 'Answer 1.').count()).toBe(1)
    await page.getByRole('button', { name: 'Undo' }).click()
    await shown(page, 'Answer 2.').waitFor()
  })

  it('PAGE-12 a failed reply has a button that runs the same message again', async () => {
    const { page, fake } = await openPage()
    let works = false
    fake.respondWith(() => (works ? { text: 'Here I am.' } : { status: 400 }))
    await say(page, 'Are you there?')
    await log(page).getByText('The model failed or could not be reached.').waitFor()
    works = true
    await press(page, 'Retry')
    await shown(page, 'Here I am.').waitFor()
    expect(await shown(page, 'Are you there?').count()).toBe(1)
    expect(await log(page).getByText('The model failed').count()).toBe(0)
  })

  it('PAGE-12 a stopped reply is continued', async () => {
    const { page, fake } = await openPage()
    fake.reply([{ text: 'A long story, which never comes to its end.', chunkSize: 6, stallAfterChunks: 3 }])
    await say(page, 'Tell')
    await log(page).getByText('A long story').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    fake.reply({ text: 'It ended well.' })
    await press(page, 'Continue')
    await shown(page, 'It ended well.').waitFor()
    expect(fake.requests.at(-1)?.bytes).toContain('A long story')
  })

  it('PAGE-12 a message is quoted in the message field, by the keyboard alone', async () => {
    const { page, fake } = await openPage()
    fake.reply({ text: 'First line.\n\nSecond line.' })
    await say(page, 'Hello')
    await shown(page, 'Second line.').waitFor()
    const quote = log(page).getByRole('article').getByRole('button', { name: 'Quote' })
    await quote.focus()
    await page.keyboard.press('Enter')
    const field = page.getByRole('combobox', { name: 'Message' })
    await expect.poll(() => field.inputValue()).toBe('> First line.\n> \n> Second line.\n\n')
    await expect.poll(() => page.evaluate(`document.activeElement?.getAttribute('aria-label')`)).toBe('Message')
  })

  it('PAGE-12 the actions of a message are visible on a touch screen, and at the newest messages', async () => {
    const { page, fake, newContext, signInLink } = await openPage()
    numbered(fake)
    await say(page, 'One')
    await shown(page, 'Answer 1.').waitFor()
    await say(page, 'Two')
    await shown(page, 'Answer 2.').waitFor()
    await page.mouse.move(0, 0)
    const opacities = (at: Page) =>
      log(at)
        .getByRole('button', { name: 'Copy' })
        .evaluateAll((all) =>
          (all as { checkVisibility(options: object): boolean }[]).map((one) =>
            one.checkVisibility({ opacityProperty: true }),
          ),
        )
    await expect.poll(() => opacities(page)).toEqual([false, false, true, true])
    const touch = await newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
    const phone = await touch.newPage()
    await phone.goto(await signInLink())
    await phone.getByLabel('Open menu').waitFor()
    await phone.goto(page.url())
    await shown(phone, 'Answer 2.').waitFor()
    await expect.poll(() => opacities(phone)).toEqual([true, true, true, true])
    expect(await findFaults(phone)).toEqual([])
  })
})
