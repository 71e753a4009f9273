import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { openPage } from './support/open-page.ts'

const usage = { input: 1_000, output: 200, cacheRead: 3_000, cacheWrite: 0 }

describePage('cost in the page', () => {
  it('PAGE-6 spending is shown by day, model, purpose and conversation, with the budgets', async () => {
    const { page, fake, familiar } = await openPage({
      path: '/cost',
      toml: '[budget]\nper_day_usd = 3.0\nper_month_usd = 40.0\n',
    })
    await page.getByText('No model calls in this period').waitFor()
    fake.reply({ text: 'Hello.', usage })
    await familiar.chat('Hi <b>there</b>', { session: 'costly', channel: 'web' })
    await page.goto(new URL('/cost?period=week', page.url()).href)
    await page.getByRole('img', { name: /Dollars by day and model/ }).waitFor()
    const models = page.getByRole('list', { name: 'Cost by model' })
    expect(await models.textContent()).toContain('fake/main')
    expect(await models.textContent()).toContain('75% cached')
    expect(await page.getByRole('list', { name: 'Cost by purpose' }).textContent()).toContain('Conversations')
    // Text of the user is shown as text, also when it looks like HTML.
    await page.getByRole('list', { name: 'Cost by conversation' }).getByText('Hi <b>there</b>').waitFor()
    await page.getByText('up to $3.00').waitFor()
    await page.getByText('up to $40.00').waitFor()
    await page.getByRole('button', { name: 'Table' }).click()
    expect(await page.getByRole('table', { name: 'Cost by day, newest first' }).textContent()).toContain('4,000')
  })

  it('PAGE-6 the period and the measure stay after a reload', async () => {
    const { page, fake, familiar } = await openPage({ path: '/cost' })
    fake.reply({ text: 'Hello.', usage })
    await familiar.chat('Hi')
    await page.getByRole('combobox', { name: 'Period' }).selectOption('year')
    await page.getByRole('combobox', { name: 'Unit' }).selectOption('tokens')
    await page.reload()
    await page.getByRole('img', { name: /Tokens by day and model/ }).waitFor()
    expect(await page.getByRole('combobox', { name: 'Period' }).inputValue()).toBe('year')
  })

  it('COST-1 a model without a price is marked', async () => {
    const { page, familiar } = await openPage()
    const { database, ownerId } = familiar.daemon
    const tokens = { input_tokens: 500, output_tokens: 20, cache_read_tokens: 0, cache_write_tokens: 0 }
    const call = { user_id: ownerId, session_id: null, turn_id: null, purpose: 'primary', model: 'home/llama' }
    await database.write(async (writer) => {
      await writer
        .insertInto('cost_ledger')
        .values({
          ...call,
          ...tokens,
          id: 'one',
          state: 'settled',
          at: Date.now(),
          reserved_nanousd: 0,
          cost_nanousd: null,
        })
        .execute()
    })
    await page.goto(new URL('/cost', page.url()).href)
    await page.getByText(/1 of 1 calls used models without a price/).waitFor()
    expect(await page.getByRole('list', { name: 'Cost by model' }).textContent()).toContain('no price')
    expect(await page.getByRole('definition').first().textContent()).toBe('unknown')
    // There is nothing to draw in dollars: what is known is drawn.
    await page.getByRole('img', { name: /Tokens by day and model/ }).waitFor()
  })
})
