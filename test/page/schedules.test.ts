import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { findFaults, sidewaysBy } from './support/find-faults.ts'
import { movableClock } from './support/movable-clock.ts'
import { openPage } from './support/open-page.ts'

describePage('schedules in the page', () => {
  it('PAGE-6 a schedule is created, run and canceled', async () => {
    const { page, fake } = await openPage({ path: '/schedules' })
    fake.reply({ text: 'Good morning.' })
    await page.getByText('No schedules yet').waitFor()
    await page.getByRole('button', { name: 'New schedule' }).click()
    await page.getByLabel('Repeating').check()
    await page.getByLabel('Repeat', { exact: true }).selectOption('Weekdays')
    await page.getByLabel('Time', { exact: true }).fill('07:45')
    await page.getByText(/Runs at 7:45\sAM on weekdays\./).waitFor()
    expect(await page.getByRole('status').getByRole('listitem').count()).toBe(5)
    await page.getByLabel('Message', { exact: true }).fill('Say good <b>morning</b>')
    await page.getByRole('button', { name: 'Create' }).click()

    await page.getByRole('heading', { name: 'Say good <b>morning</b>' }).waitFor()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('sent', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Cancel schedule' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel schedule' }).click()
    await page.getByText('canceled', { exact: true }).waitFor()

    await page.getByRole('link', { name: 'All schedules' }).click()
    await page.getByText('No schedules yet').waitFor()
    await page.getByLabel('Show finished').check()
    await page
      .getByRole('main')
      .getByRole('link', { name: /Say good <b>morning<\/b>/ })
      .waitFor()
    await page.reload()
    await page
      .getByRole('main')
      .getByRole('link', { name: /Say good <b>morning<\/b>/ })
      .waitFor()
  })

  it('PAGE-6 SCHED-1 a repeating schedule has runs, which link to the conversation', async () => {
    const clock = movableClock()
    const { page, fake, familiar } = await openPage({ daemon: { clock } })
    fake.respondWith(() => ({ text: 'Water them.' }))
    const made = await familiar.request('POST', '/api/v1/schedules', { cron: '*/5 * * * *', message: 'The plants' })
    const { id } = (await made.json()) as { id: string }
    await page.goto(new URL(`/schedules/${id}`, page.url()).href)
    await page.getByText('No runs yet').waitFor()
    const shown = async () => {
      const response = await familiar.request('GET', `/api/v1/schedules/${id}`)
      return (await response.json()) as { next_at: string; runs: { state: string }[] }
    }
    for (const states of [['delivered'], ['delivered', 'delivered']]) {
      clock.passUntil(Date.parse((await shown()).next_at))
      await expect.poll(async () => (await shown()).runs.map(({ state }) => state), { timeout: 20_000 }).toEqual(states)
    }
    // Then it was not there for long, and says so.
    clock.passUntil(Date.parse((await shown()).next_at) + 14 * 60_000)
    await page.getByText('sent late', { exact: true }).waitFor()
    expect(await page.getByText('sent', { exact: true }).count()).toBe(2)
    await page.getByRole('main').getByRole('link').filter({ hasNotText: 'All schedules' }).first().click()
    await page.getByRole('log').getByText('Water them.').first().waitFor()
  })

  it('PAGE-4 axe finds nothing serious in the form and in one schedule, nor do they scroll sideways', async () => {
    const { page, familiar } = await openPage({
      path: '/schedules/new',
      context: { viewport: { width: 360, height: 740 } },
    })
    await page.getByLabel('Repeating').check()
    await page.getByText(/Runs at 9:00\sAM every day\./).waitFor()
    expect(await findFaults(page)).toEqual([])
    expect(await sidewaysBy(page)).toBe(0)
    const made = await familiar.request('POST', '/api/v1/schedules', { cron: '0 9 * * *', message: 'Hello' })
    const { id } = (await made.json()) as { id: string }
    await page.goto(new URL(`/schedules/${id}`, page.url()).href)
    await page.getByText('No runs yet').waitFor()
    expect(await findFaults(page)).toEqual([])
    expect(await sidewaysBy(page)).toBe(0)
  })

  it('PAGE-6 an invalid time is reported while it is typed, and cannot be saved', async () => {
    const { page } = await openPage({ path: '/schedules/new' })
    await page.getByLabel('Message', { exact: true }).fill('Hello')
    await page.getByLabel('When').fill('the day after never')
    await page.getByRole('status').filter({ hasText: 'never' }).waitFor()
    expect(await page.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true)
    await page.getByLabel('When').fill('2099-01-01 09:00')
    await page.getByText('January 1, 2099').waitFor()
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'Hello' }).waitFor()
  })
})
