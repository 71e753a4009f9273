import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { describePage, more } from './support/describe-page.ts'
import { openPage, say } from './support/open-page.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const sessions = (page: Page) => page.getByRole('navigation', { name: 'Familiar' })
/** The turn is over: its footer is there. */
const finished = (page: Page) => log(page).locator('article[aria-busy=false]')

describePage('talking in the page', () => {
  it('PAGE-2 text and thinking stream in, and a reload shows the same', async () => {
    const { page, fake } = await openPage()
    fake.reply({
      thinking: { text: 'They greet me.' },
      text: '# Well\n\nHello **you**.\n\n```ts\nconst one = 1\n```\n',
      chunkSize: 3,
      chunkDelayMs: 4,
    })
    await say(page, 'Hi there')
    await finished(page).waitFor()
    const shown = async () => [
      await log(page).getByRole('heading', { name: 'Well' }).count(),
      await log(page).locator('strong', { hasText: 'you' }).count(),
      await log(page).locator('pre', { hasText: 'const one = 1' }).count(),
      await log(page).getByText('Hi there').count(),
    ]
    expect(await shown()).toEqual([1, 1, 1, 1])
    await log(page)
      .getByRole('button', { name: /Thought/ })
      .click()
    await log(page).getByText('They greet me.').waitFor()
    await page.reload()
    await finished(page).waitFor()
    expect(await shown()).toEqual([1, 1, 1, 1])
  })

  it('PAGE-2 a tool unfolds while it runs, and its card stands in a frame without rights', async () => {
    const released = Promise.withResolvers<void>()
    const card = {
      title: 'Trains',
      html: '<h1>Trains</h1>',
      text: 'Trains',
      accentColor: null,
      backgroundColor: null,
      icon: null,
    }
    const trains = toolOf('trains', async (_input, context) => {
      // Told again and again, for it is not kept: whoever begins to watch later sees the next.
      const telling = setInterval(() => context.progress('asking the station'), 50)
      await released.promise
      clearInterval(telling)
      return { ...said('The train is late.'), card }
    })
    const { page, fake } = await openPage({ daemon: { extraTools: [trains] } })
    fake.reply([{ toolCalls: [{ name: 'trains', input: { to: 'Ghent' } }] }, { text: 'It is late.' }])
    await say(page, 'My train?')
    const fold = log(page).getByRole('button', { name: /trains/ })
    await fold.getByText('asking the station').waitFor()
    await fold.click()
    await log(page).getByText('"to": "Ghent"').waitFor()
    released.resolve()
    await log(page).getByText('It is late.').waitFor()
    await log(page).getByText('The train is late.').waitFor()
    const frame = log(page).locator('iframe[title="Trains"]')
    expect(await frame.getAttribute('sandbox')).toBe('')
    await frame.contentFrame().getByRole('heading', { name: 'Trains' }).waitFor()
  })

  it('SEC-16 what needs a word is allowed by a button, once', async () => {
    const sent: unknown[] = []
    const send = toolOf(
      'send',
      async (input) => {
        sent.push(input)
        return said('Sent.')
      },
      { reach: () => ({ kind: 'asks', destination: 'https://mail.example' }) },
    )
    const { page, fake } = await openPage({ daemon: { extraTools: [send] } })
    fake.respondWith(({ bytes }) => {
      if (bytes.includes('Sent.')) return { text: 'It is sent.' }
      return { toolCalls: [{ name: 'send', input: { body: 'Hello Bob' } }] }
    })
    await say(page, 'Write to Bob')
    const asked = log(page).getByRole('region', { name: 'Your approval is needed' })
    await asked.getByText('https://mail.example').first().waitFor()
    expect(sent).toEqual([])
    await asked.getByRole('button', { name: 'Allow once' }).first().click()
    await log(page).getByText('It is sent.').first().waitFor()
    expect(sent).toEqual([{ body: 'Hello Bob' }])
  })

  it('LOOP-4 a question is shown, and what is said next answers it', async () => {
    const { page, fake } = await openPage()
    fake.reply([
      { toolCalls: [{ name: 'ask_user', input: { question: 'Which train do you take?' } }] },
      { text: 'The early one, then.' },
    ])
    await say(page, 'Book it')
    await log(page).getByText('Which train do you take?').last().waitFor()
    await finished(page).waitFor()
    await say(page, 'The early one')
    await log(page).getByText('The early one, then.').waitFor()
  })

  it('LOOP-8 stop ends the turn, and says so', async () => {
    const { page, fake } = await openPage()
    fake.reply([{ text: 'A long story, which never comes to its end.', chunkSize: 6, stallAfterChunks: 3 }])
    await say(page, 'Tell')
    await log(page).getByText('A long story').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await log(page).getByText('You stopped it here.').waitFor()
    await fake.until(() => fake.stats().aborted === 1)
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
  })

  it('SESS-9 files come by drop and by paste, can be left out, and reach the model', async () => {
    const { page, fake } = await openPage()
    const field = page.getByRole('combobox', { name: 'Message' })
    for (const event of ['drop', 'paste']) await field.evaluate(givesFile, { event, name: `${event}.png` })
    await page.getByText('drop.png').waitFor()
    await page.getByText('paste.png').waitFor()
    await page.getByRole('button', { name: 'Leave out paste.png' }).click()
    fake.reply({ text: 'A picture.' })
    await say(page, 'What is this?')
    await log(page).getByText('A picture.').waitFor()
    expect(fake.requests[0]?.bytes).toContain(pixel)
    expect(fake.requests[0]?.bytes).not.toContain('paste.png')
  })

  it('PAGE-4 the finder of blocks and the palette of commands are used by the keyboard', async () => {
    const { page, familiar, fake } = await openPage()
    const made = await familiar.request('PUT', '/api/v1/blocks/garden.md', { content: 'Roses and thyme.' })
    expect(made.status, await made.clone().text()).toBeLessThan(300)
    const field = page.getByRole('combobox', { name: 'Message' })
    await field.pressSequentially('Look at @@gar')
    await page.getByRole('option', { name: /garden/ }).waitFor()
    await page.keyboard.press('Tab')
    expect(await field.inputValue()).toContain('garden')
    fake.reply({ text: 'Roses.' })
    await page.keyboard.press('Enter')
    await log(page).getByText('Roses.').waitFor()
    expect(fake.requests[0]?.bytes).toContain('Roses and thyme.')
    await field.pressSequentially('/hist')
    await page
      .getByRole('option', { name: /history/ })
      .first()
      .waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: /^\/history/ }).waitFor()
  })

  more('PAGE-4 the finder of files is used by keyboard and mouse, and shows hostile names as text', async () => {
    const { page, familiar, fake } = await openPage()
    const workspace = join(familiar.home, 'workspace')
    mkdirSync(workspace, { recursive: true })
    writeFileSync(join(workspace, 'garden-plan.txt'), 'Beans along the wall.')
    writeFileSync(join(workspace, 'garden <img src=x onerror=alert(1)>.txt'), 'Nothing.')
    const field = page.getByRole('combobox', { name: 'Message' })
    await field.pressSequentially('What stands in @gard')
    const list = page.getByRole('listbox')
    await list.getByText('<img src=x onerror=alert(1)>').waitFor()
    expect(await list.getByRole('option').count()).toBe(2)
    expect(await page.locator('main img').count()).toBe(0)
    const chosen = () => list.getByRole('option', { selected: true }).textContent()
    const first = await chosen()
    await page.keyboard.press('ArrowDown')
    await expect.poll(chosen).not.toBe(first)
    await list.getByRole('option', { name: 'garden-plan.txt' }).click()
    expect(await field.inputValue()).toBe('What stands in @garden-plan.txt ')
    await list.waitFor({ state: 'detached' })
    fake.reply({ text: 'Beans.' })
    await page.keyboard.press('Enter')
    await log(page).getByText('Beans.').waitFor()
    expect(fake.requests[0]?.bytes).toContain('Beans along the wall.')
  })

  more(
    'PAGE-2 a link to a turn leads there however far back it is, and what comes then takes nothing away',
    async () => {
      const { page, familiar, fake, url } = await openPage()
      fake.respondWith(({ lastUserText }) => ({ text: `Answer to ${lastUserText.split(/\s+/).at(-1)}` }))
      let session = ''
      for (let index = 0; index < 90; index += 1) {
        ;({ session_id: session } = await familiar.chat(`question${index}`, { session: 'long' }))
      }
      const reply = await familiar.request('GET', `/api/v1/sessions/${session}/turn-events?limit=1000`)
      const { events } = (await reply.json()) as { events: { event: { type: string; turnId?: string } }[] }
      expect(events.length).toBeGreaterThan(400)
      const turn = events.find(({ event }) => event.type === 'turn_start')?.event.turnId
      await page.goto(`${url}/talk/${session}?turn=${turn}`)
      await log(page).locator('[aria-current=location]').getByText('Answer to question0').waitFor()
      await expect.poll(() => log(page).getByText('Answer to question0').isVisible()).toBe(true)
      await say(page, 'question90')
      await log(page).getByText('Answer to question90').waitFor()
      await log(page).hover()
      await expect
        .poll(async () => {
          await page.mouse.wheel(0, -100_000)
          return await log(page).getByText('Answer to question0', { exact: true }).isVisible()
        })
        .toBe(true)
    },
  )

  it('SESS-8 what is said differently goes on in a fork', async () => {
    const { page, fake } = await openPage()
    fake.respondWith(({ lastUserText }) => ({ text: lastUserText.includes('Bruges') ? 'Canals.' : 'Three towers.' }))
    await say(page, 'Tell me of Ghent')
    await log(page).getByText('Three towers.').waitFor()
    const before = page.url()
    await log(page).getByText('Tell me of Ghent').hover()
    await log(page).getByRole('button', { name: 'Edit' }).click()
    const dialog = page.getByRole('dialog', { name: 'Say it differently' })
    await dialog.getByRole('textbox').fill('Tell me of Bruges')
    await dialog.getByRole('button', { name: 'Send' }).click()
    await log(page).getByText('Canals.').waitFor()
    expect(page.url()).not.toBe(before)
    expect(await log(page).getByText('Tell me of Ghent').count()).toBe(0)
    await page.goBack()
    await log(page).getByText('Three towers.').waitFor()
  })

  it('PAGE-2 sessions are listed, found, renamed, marked as unread, exported and archived', async () => {
    const { page, familiar, fake } = await openPage()
    fake.respondWith(({ lastUserText }) => ({ text: `About ${lastUserText.split(/\s+/).at(-1)}` }))
    await say(page, 'tulips')
    await log(page).getByText('About tulips').waitFor()
    await familiar.chat('oranges', { session: 'elsewhere' })
    await page.reload()
    const other = sessions(page).getByRole('link', { name: /oranges.*unread/s })
    await other.waitFor()
    await sessions(page).getByRole('searchbox').fill('tulip')
    await other.waitFor({ state: 'detached' })
    expect(
      await sessions(page)
        .getByRole('link', { name: /tulips/ })
        .count(),
    ).toBe(1)
    await sessions(page).getByRole('searchbox').fill('')
    await other.click()
    await log(page).getByText('About oranges').waitFor()

    const menu = async (item: string) => {
      await page.getByRole('button', { name: 'More', exact: true }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await menu('Rename')
    await page.getByRole('dialog').getByLabel('Title').fill('Citrus')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Citrus' }).waitFor()

    const download = page.waitForEvent('download')
    await menu('Export')
    const lines = readFileSync(await (await download).path(), 'utf8')
      .trim()
      .split('\n')
    expect(lines.map((line) => JSON.parse(line).type)).toContain('message_received')

    await menu('Archive')
    await sessions(page)
      .getByRole('link', { name: /Citrus/ })
      .waitFor({ state: 'detached' })
    await sessions(page).getByLabel('Show archived').check()
    await sessions(page)
      .getByRole('link', { name: /Citrus/ })
      .waitFor()
  })

  it('PAGE-2 the offline model remembers and answers in the page', async () => {
    const { page } = await openPage({ model: 'offline', toml: '[memory]\n' })
    await say(page, 'Remember that I am allergic to shellfish')
    await finished(page).waitFor()
    await say(page, 'What am I allergic to?')
    await finished(page)
      .nth(1)
      .getByText(/shellfish/)
      .first()
      .waitFor()
  })
})

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** Runs in the page: what a person drags or pastes there. */
const givesFile = new Function(
  'element',
  'given',
  `const bytes = Uint8Array.from(atob('${pixel}'), (letter) => letter.charCodeAt(0))
   const data = new DataTransfer()
   data.items.add(new File([bytes], given.name, { type: 'image/png' }))
   const init = { bubbles: true, cancelable: true }
   element.dispatchEvent(given.event === 'drop'
     ? new DragEvent('drop', { ...init, dataTransfer: data })
     : new ClipboardEvent('paste', { ...init, clipboardData: data }))`,
) as (element: unknown, given: { event: string; name: string }) => void
