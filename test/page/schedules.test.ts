import { expect, it } from 'vitest'
import { describePage, more } from './support/describe-page.ts'
import { findFaults, sidewaysBy } from './support/find-faults.ts'
import { openPage } from './support/open-page.ts'

describePage('schedules in the page', () => {
  it('PAGE-6 one is planned, run and cancelled', async () => {
    const { page, fake } = await openPage({ path: '/schedules' })
    fake.reply({ text: 'Good morning.' })
    await page.getByText('Nothing is planned').waitFor()
    await page.getByRole('button', { name: 'New schedule' }).click()
    await page.getByLabel('Again and again').check()
    await page.getByLabel('Repeat', { exact: true }).selectOption('On weekdays')
    await page.getByLabel('Time', { exact: true }).fill('07:45')
    await page.getByText('It comes at 07:45 on weekdays.').waitFor()
    expect(await page.getByRole('status').getByRole('listitem').count()).toBe(5)
    await page.getByLabel('Message', { exact: true }).fill('Say good <b>morning</b>')
    await page.getByRole('button', { name: 'Plan it' }).click()

    await page.getByRole('heading', { name: 'Say good <b>morning</b>' }).waitFor()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('sent', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Cancel it' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel it' }).click()
    await page.getByText('cancelled', { exact: true }).waitFor()

    await page.getByRole('link', { name: '← All schedules' }).click()
    await page.getByText('Nothing is planned').waitFor()
    await page.getByLabel('Show what is over, too').check()
    await page.getByRole('link', { name: /Say good <b>morning<\/b>/ }).waitFor()
    await page.reload()
    await page.getByRole('link', { name: /Say good <b>morning<\/b>/ }).waitFor()
  })

  more('PAGE-4 axe finds nothing serious in the form and in one schedule, nor do they scroll sideways', async () => {
    const { page, familiar } = await openPage({
      path: '/schedules/new',
      context: { viewport: { width: 360, height: 740 } },
    })
    await page.getByLabel('Again and again').check()
    await page.getByText('It comes at 09:00 every day.').waitFor()
    expect(await findFaults(page)).toEqual([])
    expect(await sidewaysBy(page)).toBe(0)
    const made = await familiar.request('POST', '/api/v1/schedules', { cron: '0 9 * * *', message: 'Hello' })
    const { id } = (await made.json()) as { id: string }
    await page.goto(new URL(`/schedules/${id}`, page.url()).href)
    await page.getByText('It has not come yet').waitFor()
    expect(await findFaults(page)).toEqual([])
    expect(await sidewaysBy(page)).toBe(0)
  })

  more('PAGE-6 a time that makes no sense is told while it is typed, and cannot be planned', async () => {
    const { page } = await openPage({ path: '/schedules/new' })
    await page.getByLabel('Message', { exact: true }).fill('Hello')
    await page.getByLabel('When').fill('the day after never')
    await page.getByRole('status').filter({ hasText: 'never' }).waitFor()
    expect(await page.getByRole('button', { name: 'Plan it' }).isDisabled()).toBe(true)
    await page.getByLabel('When').fill('2099-01-01 09:00')
    await page.getByText('January 1, 2099').waitFor()
    await page.getByRole('button', { name: 'Plan it' }).click()
    await page.getByRole('heading', { name: 'Hello' }).waitFor()
  })
})
