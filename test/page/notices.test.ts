import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { movableClock } from './support/movable-clock.ts'
import { openPage, say } from './support/open-page.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const bell = (page: Page) => page.getByRole('button', { name: /^Notifications/ })
const toasts = (page: Page) => page.locator('[aria-live=polite]').getByRole('link', { name: 'Show' })
const unread = (page: Page, count: number) =>
  page.getByRole('button', { name: count === 0 ? 'Notifications' : `Notifications (${count} unread)`, exact: true })

const ask = { toolCalls: [{ name: 'ask_user', input: { question: 'Which color shall it be?' } }] }

/** As behind another window: Chromium without a window shows all of its tabs. */
async function hide(page: Page): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`)
}

async function show(page: Page): Promise<void> {
  await page.evaluate(`delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))`)
}

/** There is time to leave the conversation before it ends. */
const slow = { text: 'The answer is ready now.', chunkSize: 2, chunkDelayMs: 500 }

describePage('notices', () => {
  it('PAGE-20 a reply is announced in one of two tabs, counted in both, and reading it removes it from both', async () => {
    const { page, context, fake, url } = await openPage()
    const other = await context.newPage()
    await other.goto(`${url}/schedules`)
    await unread(other, 0).waitFor()
    fake.reply(slow)
    await say(page, 'Think about it')
    await log(page).getByText('The').first().waitFor()
    const place = page.url()
    await page.getByRole('link', { name: 'Memory', exact: true }).click()
    await unread(page, 1).waitFor()
    await unread(other, 1).waitFor()
    await expect.poll(() => page.title()).toMatch(/^\(1\) .* · Familiar$/)
    await expect.poll(async () => (await toasts(page).count()) + (await toasts(other).count())).toBe(1)
    await bell(other).click()
    const entry = other.getByRole('dialog', { name: 'Notifications' }).getByRole('link', { name: /New reply/ })
    await entry.getByText('Think about it').waitFor()
    await entry.getByText('The answer is ready now.').waitFor()
    expect(await findFaults(other)).toEqual([])
    // A reload announces nothing again.
    await page.reload()
    await unread(page, 1).waitFor()
    expect(await toasts(page).count()).toBe(0)
    await entry.click()
    await other.waitForURL(place)
    await unread(page, 0).waitFor()
    await unread(other, 0).waitFor()
    await expect.poll(() => page.title()).toBe('Memory · Familiar')
    await bell(page).click()
    await page.getByText('Nothing new').waitFor()
  })

  it('PAGE-20 nothing is announced where the reply is in view', async () => {
    const { page, fake } = await openPage()
    fake.reply({ text: 'Here it is.' })
    await say(page, 'Now')
    await log(page).locator('article[aria-busy=false]').waitFor()
    await page.getByRole('link', { name: 'Memory', exact: true }).click()
    await unread(page, 0).waitFor()
    expect(await toasts(page).count()).toBe(0)
  })

  it('PAGE-20 LOOP-4 a question stays behind the bell until it is answered on another channel', async () => {
    const { page, fake, familiar } = await openPage()
    fake.reply([ask, { text: 'Blue it is.' }])
    await say(page, 'Paint the fence')
    await log(page).getByText('Which color shall it be?').first().waitFor()
    const session = new URL(page.url()).pathname.split('/').at(-1)
    const inbox = page.getByRole('dialog', { name: 'Notifications' })
    await bell(page).click()
    await inbox.getByText('Familiar has a question').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Memory', exact: true }).click()
    // It was in view: it waits, and is not unread.
    await unread(page, 0).waitFor()
    await bell(page).click()
    await inbox.getByText('Familiar has a question').waitFor()
    await inbox.getByText('Which color shall it be?').waitFor()
    await familiar.request('POST', '/api/v1/chat', { session, message: 'Blue', source: 'cli' })
    await inbox.getByText('Familiar has a question').waitFor({ state: 'detached' })
  })

  it('PAGE-20 SEC-16 an approval is announced with its sentence, and an answer on another channel removes it', async () => {
    const run = async () => said('Posted.')
    const post = toolOf('post_letter', run, { reach: () => ({ kind: 'send', destination: 'https://mail.example' }) })
    const { page, fake, familiar } = await openPage({ path: '/memory', daemon: { extraTools: [post] } })
    await unread(page, 0).waitFor()
    fake.respondWith(({ bytes }) =>
      /Posted\.|The user denied/.test(bytes)
        ? { text: 'Right.' }
        : { text: 'I have a letter.', toolCalls: [{ name: 'post_letter', input: { to: 'bob@mail.example' } }] },
    )
    await familiar.request('POST', '/api/v1/chat', { session: 'letters', message: 'Write to Bob', source: 'telegram' })
    await page.getByText('Approval needed: Write to Bob').waitFor()
    await unread(page, 1).click()
    const inbox = page.getByRole('dialog', { name: 'Notifications' })
    await inbox.getByText('Let post_letter send this to mail.example?').waitFor()
    const { approvals } = (await (await familiar.request('GET', '/api/v1/approvals')).json()) as {
      approvals: { id: string }[]
    }
    await familiar.request('POST', `/api/v1/approvals/${approvals[0]?.id}`, { answer: 'deny' })
    await inbox.getByText('Nothing new').waitFor()
    await page.keyboard.press('Escape')
    await unread(page, 0).waitFor()
  })

  it('PAGE-20 SCHED-1 a scheduled task is announced, as its kind is switched on', async () => {
    const clock = movableClock()
    const { page, fake, familiar } = await openPage({ path: '/settings/notifications', daemon: { clock } })
    fake.respondWith(() => ({ text: 'Water them.' }))
    const made = await familiar.request('POST', '/api/v1/schedules', { cron: '*/5 * * * *', message: 'The plants' })
    const { id } = (await made.json()) as { id: string }
    async function run(): Promise<void> {
      const response = await familiar.request('GET', `/api/v1/schedules/${id}`)
      clock.passUntil(Date.parse(((await response.json()) as { next_at: string }).next_at))
    }
    const kind = page.getByRole('checkbox', { name: 'Scheduled tasks' })
    await kind.uncheck()
    await run()
    await unread(page, 1).waitFor()
    await unread(page, 1).click()
    await page.getByRole('dialog').getByText('Scheduled task finished').waitFor()
    await page.getByRole('button', { name: 'Mark all as read' }).click()
    await page.keyboard.press('Escape')
    await unread(page, 0).waitFor()
    expect(await toasts(page).count()).toBe(0)
    await kind.check()
    await run()
    await page.getByText('Scheduled task finished: ').waitFor()
    expect(await toasts(page).count()).toBe(1)
  })
})

const shownNotifications = `(async () => {
  const worker = await navigator.serviceWorker.getRegistration()
  return (await worker?.getNotifications() ?? []).map(({ title, body }) => title + ': ' + body)
})()`

describePage('notifications of the system', () => {
  it('PAGE-20 the permission is asked for by the switch alone, and one of two hidden tabs notifies', async () => {
    const { newContext, signInLink, fake, url } = await openPage()
    const context = await newContext({ permissions: ['notifications'], serviceWorkers: 'allow' })
    await context.addInitScript(`{
      const own = Notification.requestPermission.bind(Notification)
      globalThis.timesAsked = 0
      Notification.requestPermission = () => { globalThis.timesAsked += 1; return own() }
    }`)
    const page = await context.newPage()
    await page.goto(await signInLink())
    await page.getByRole('button', { name: 'Notifications', exact: true }).click()
    expect(await page.evaluate('globalThis.timesAsked')).toBe(0)
    await page.getByRole('link', { name: 'Notification settings' }).click()
    const control = page.getByRole('checkbox', { name: 'Notifications on this device' })
    await control.click()
    await expect.poll(() => control.isChecked()).toBe(true)
    expect(await page.evaluate('globalThis.timesAsked')).toBe(1)
    await page.evaluate('navigator.serviceWorker.ready.then(() => undefined)')
    const other = await context.newPage()
    await other.goto(`${url}/schedules`)
    await unread(other, 0).waitFor()
    await page.getByRole('link', { name: 'Familiar', exact: true }).click()
    fake.reply(slow)
    await say(page, 'Call me back')
    await log(page).getByText('The').first().waitFor()
    await hide(page)
    await hide(other)
    await expect
      .poll(() => page.evaluate(shownNotifications))
      .toEqual(['New reply: Call me back\nThe answer is ready now.'])
    await show(page)
    await expect.poll(() => page.evaluate(shownNotifications)).toEqual([])
    expect(await toasts(page).count()).toBe(0)
    await expect.poll(() => other.title()).toBe('Schedules · Familiar')
  })
})
