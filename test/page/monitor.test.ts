import { expect, it } from 'vitest'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { describePage } from './support/describe-page.ts'
import { openPage, say } from './support/open-page.ts'

describePage('the monitor in the page', () => {
  it('MON-1 a running turn is shown with its tool, and can be stopped', async () => {
    const stay = toolOf(
      'stay_here',
      (_input, { signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(said('stopped')), { once: true })),
    )
    const { page, fake, familiar } = await openPage({ path: '/monitor', daemon: { extraTools: [stay] } })
    await page.getByText('Nothing running').waitFor()
    fake.reply({ toolCalls: [{ name: 'stay_here', input: {} }] })
    await familiar.request('POST', '/api/v1/messages', { message: 'Stay', session: 'watched', channel: 'web' })
    await page.getByRole('list', { name: 'Running tools' }).getByText('stay_here').waitFor()
    await page.getByRole('button', { name: 'Stop Stay' }).click()
    await page.getByText('Nothing running').waitFor()
  })

  it('PAGE-6 the timeline of a turn opens from the conversation, and shows its steps', async () => {
    const look = toolOf('look_around', async () => said('seen'))
    const { page, fake } = await openPage({ daemon: { extraTools: [look] } })
    fake.reply({ toolCalls: [{ name: 'look_around', input: { where: '<img src=x>' } }] })
    fake.reply({ text: 'Nothing there.' })
    await say(page, 'Look')
    await page.getByRole('log').getByText('Nothing there.').waitFor()
    await page.getByRole('link', { name: 'Timeline' }).click()
    await page.getByRole('heading', { name: 'Turn timeline' }).waitFor()
    await page.getByText('{"where":"<img src=x>"}').waitFor()
    const steps = page.getByRole('main').locator('ol > li')
    expect(await steps.count()).toBe(3)
    expect(await steps.nth(1).textContent()).toContain('look_around')
    expect(await page.getByRole('main').textContent()).toContain('2 model calls, 1 tool call')
    // The same after a reload: all of it is in the address.
    await page.reload()
    await page.getByText('{"where":"<img src=x>"}').waitFor()
  })

  it('PAGE-6 the context window of a conversation is a chart with a table, and so is each past request', async () => {
    const { page, fake, familiar } = await openPage()
    fake.reply({ text: 'Hello.', usage: { input: 100, output: 7, cacheRead: 900, cacheWrite: 50 } })
    const { session_id } = await familiar.chat('Hi', { session: 'pictured', channel: 'web' })
    await page.goto(new URL(`/monitor/context/${session_id}`, page.url()).href)
    await page.getByRole('img', { name: /of 150,000 tokens/ }).waitFor()
    const table = await page.getByRole('table', { name: 'Context window by part' }).textContent()
    expect(table).toContain('Tools')
    expect(table).toContain('cached')
    await page.getByRole('img', { name: 'cache read 900, cache write 50, new 100, received 7' }).waitFor()
  })

  it('PAGE-6 a failed message is sent again, and one that may have arrived only after a question', async () => {
    const { page, familiar } = await openPage({ path: '/settings/sent' })
    const { database, ownerId } = familiar.daemon
    await database.write(async (writer) => {
      for (const state of ['failed', 'unknown'] as const) {
        const empty = { external_id: null, session_id: null, repeats: null, created_at: 1, updated_at: 1 }
        await writer
          .insertInto('outbox')
          .values({
            id: `item-${state}`,
            user_id: ownerId,
            channel: 'telegram',
            address: '7',
            key: state,
            payload: JSON.stringify({ kind: 'text', text: `This is ${state}` }),
            state,
            attempts: 1,
            next_at: null,
            error: 'It rained',
            ...empty,
          })
          .execute()
      }
    })
    const stateOf = async (id: string) =>
      ((await (await familiar.request('GET', `/api/v1/outbox/${id}`)).json()) as { state: string }).state
    const failed = page.getByRole('listitem').filter({ hasText: 'This is failed' })
    await failed.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Sending again').waitFor()
    expect(await stateOf('item-failed')).not.toBe('failed')
    await page.getByRole('combobox', { name: 'Show' }).selectOption('unknown')
    const unknown = page.getByRole('listitem').filter({ hasText: 'This is unknown' })
    await unknown.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('dialog', { name: 'Send again?' }).getByRole('button', { name: 'Keep' }).click()
    expect(await stateOf('item-unknown')).toBe('unknown')
    expect(page.url()).toContain('state=unknown')
  })
})
