import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say } from './support/open-page.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const sessions = (page: Page) => page.getByRole('navigation', { name: 'Familiar' })
/** The turn is over: its footer is there. */
const finished = (page: Page) => log(page).locator('article[aria-busy=false]')

/** The name of what has the focus. */
const focusedField = (page: Page) => page.evaluate(`document.activeElement?.getAttribute('aria-label') ?? ''`)
describePage('talking in the page', () => {
  it('ASSET-6b PAGE-2 says under each attached file what the model got of it, also after a reload', async () => {
    const { page, fake } = await openPage()
    fake.reply({ text: 'I have read them.' })
    await page.locator('input[type=file]').setInputFiles([
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('The key is under the mat') },
      { name: 'empty.csv', mimeType: 'text/csv', buffer: Buffer.from('') },
    ])
    await say(page, 'What is in these?')
    await finished(page).waitFor()
    expect(fake.requests.map(({ bytes }) => bytes).join()).toContain('The key is under the mat')
    for (const isReloaded of [false, true]) {
      if (isReloaded) await page.reload()
      await log(page).getByText('Sent as text.').waitFor()
      await log(page).getByText('empty.csv is empty.').waitFor()
    }
  })

  it('ASSET-6b names the files that do not fit into a message, and attaches the others', async () => {
    const { page } = await openPage()
    const files = Array.from({ length: 12 }, (_, index) => ({
      name: `file-${index + 1}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from(String(index)),
    }))
    await page.locator('input[type=file]').setInputFiles(files)
    await page.getByText('Not attached: file-11.txt, file-12.txt').waitFor()
    await expect.poll(() => page.getByRole('button', { name: /^Remove file-/ }).count()).toBe(10)
  })

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

  it('PAGE-2 a tool call unfolds while it runs, and its card is in a frame without rights', async () => {
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
      // Sent repeatedly, because progress is not stored: a client that connects later sees the next one.
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

  it('LOOP-4 a question is shown, and the next message answers it', async () => {
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
    await log(page).getByText('Stopped').waitFor()
    await fake.until(() => fake.stats().aborted === 1)
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
    // It says so once.
    expect(
      await log(page)
        .getByText(/stopped/i)
        .count(),
    ).toBe(1)
    await page.reload()
    await log(page).getByText('Stopped').waitFor()
    expect(
      await log(page)
        .getByText(/stopped/i)
        .count(),
    ).toBe(1)
  })

  it('LOOP-8 a second click at the place of Stop presses nothing else', async () => {
    const { page, fake } = await openPage()
    fake.reply([{ text: 'A long story, which never comes to its end.', chunkSize: 6, stallAfterChunks: 3 }])
    await say(page, 'Tell')
    await log(page).getByText('A long story').waitFor()
    const stop = page.getByRole('button', { name: 'Stop' })
    const box = await stop.boundingBox()
    if (!box) throw new Error('Stop is not drawn')
    const place = [box.x + box.width / 2, box.y + box.height / 2] as const
    await page.mouse.dblclick(...place)
    await stop.waitFor({ state: 'detached' })
    await page.mouse.click(...place)
    await expect.poll(() => focusedField(page)).toBe('Message')
    expect(await page.locator('[aria-pressed=true]').count()).toBe(0)
    expect(fake.requests).toHaveLength(1)
  })

  it('PAGE-2 two messages typed without a pause both arrive, in the one new conversation', async () => {
    const { page, fake, familiar } = await openPage()
    fake.respondWith(({ lastUserText }) => ({ text: lastUserText.includes('second') ? 'Both heard.' : 'One heard.' }))
    await expect.poll(() => focusedField(page)).toBe('Message')
    await page.keyboard.type('this is the first message')
    await page.keyboard.press('Enter')
    await page.keyboard.type('and now the second message')
    await page.keyboard.press('Enter')
    await log(page).getByText('Both heard.').waitFor()
    expect(await log(page).getByText('this is the first message').count()).toBe(1)
    expect(await log(page).getByText('and now the second message').count()).toBe(1)
    await expect.poll(() => log(page).getByText('Queued').count()).toBe(0)
    expect(new URL(page.url()).pathname).toMatch(/^\/talk\//)
    const reply = await familiar.request('GET', '/api/v1/sessions')
    expect(((await reply.json()) as { sessions: unknown[] }).sessions).toHaveLength(1)
    // And after the answer, with the focus where it was.
    await page.keyboard.type('a message with ge and n')
    expect(await page.getByRole('combobox', { name: 'Message' }).inputValue()).toBe('a message with ge and n')
  })

  it('PAGE-2 a new conversation is titled with the start of its first message at once', async () => {
    const { page, fake, context } = await openPage()
    fake.reply({ text: 'In the drawer.' })
    // The daemon has no title before the first turn starts.
    await context.route('**/api/v1/page/sessions', async (route) => {
      const response = await route.fetch()
      const reply = (await response.json()) as { sessions: object[] }
      await route.fulfill({ response, json: { sessions: reply.sessions.map((one) => ({ ...one, title: null })) } })
    })
    await say(page, `Where is my passport?\n${'It is red. '.repeat(20)}`)
    await page.getByRole('heading', { name: 'Where is my passport?', exact: true }).waitFor()
    await sessions(page)
      .getByRole('link', { name: /^Where is my passport\?/ })
      .waitFor()
  })

  it('LOOP-8 PAGE-2 a message sent while a turn runs is shown as queued, also after a reload, and can be canceled', async () => {
    const released = Promise.withResolvers<void>()
    const wait = toolOf('wait', async () => {
      await released.promise
      return said('Done.')
    })
    // Axe reads colors, which an animation changes.
    const context = { reducedMotion: 'reduce' } as const
    const { page, fake, familiar } = await openPage({ context, daemon: { extraTools: [wait] } })
    fake.respondWith(({ bytes, lastUserText }) => {
      if (bytes.includes('Done.')) return { text: lastUserText.includes('kept') ? 'Kept heard.' : 'Slow is over.' }
      return { toolCalls: [{ name: 'wait', input: {} }] }
    })
    await say(page, 'Something slow')
    await log(page).getByRole('button', { name: /wait/ }).waitFor()
    await page.keyboard.type('the unwanted one')
    await page.keyboard.press('Enter')
    await page.keyboard.type('the kept one')
    await page.keyboard.press('Enter')
    const queued = (text: string) => log(page).locator('[data-index]', { hasText: text }).filter({ hasText: 'Queued' })
    await queued('the unwanted one').waitFor()
    await queued('the kept one').waitFor()
    expect(await findFaults(page)).toEqual([])
    await expect
      .poll(async () => {
        const session = new URL(page.url()).pathname.split('/').at(-1)
        const reply = await familiar.request('GET', `/api/v1/sessions/${session}/queue`)
        return ((await reply.json()) as { messages: unknown[] }).messages.length
      })
      .toBe(2)
    await page.reload()
    await queued('the kept one').waitFor()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await log(other).getByText('the unwanted one').waitFor()
    await queued('the unwanted one').getByRole('button', { name: 'Cancel' }).click()
    await log(page).getByText('the unwanted one').waitFor({ state: 'detached' })
    await log(other).getByText('the unwanted one').waitFor({ state: 'detached' })
    await page.getByText('Message canceled').waitFor()
    released.resolve()
    await log(page).getByText('Kept heard.').waitFor()
    await expect.poll(() => log(page).getByText('Queued').count()).toBe(0)
    expect(await log(page).getByText('the kept one').count()).toBe(1)
    expect(fake.requests.some(({ bytes }) => bytes.includes('the unwanted one'))).toBe(false)
  })

  it('PAGE-4 the message field has the focus, and letters go to it, but never from another field or a selection', async () => {
    const { page, fake, familiar } = await openPage()
    fake.respondWith(({ lastUserText }) => ({ text: `Heard ${lastUserText.split(/\s+/).at(-1)}.` }))
    await familiar.chat('An older conversation', { session: 'Older' })
    await page.reload()
    const field = page.getByRole('combobox', { name: 'Message' })
    await expect.poll(() => focusedField(page)).toBe('Message')
    await page.getByRole('link', { name: 'New conversation' }).click()
    await expect.poll(() => focusedField(page)).toBe('Message')
    await say(page, 'words to select')
    await expect.poll(() => focusedField(page)).toBe('Message')
    await log(page).getByText('Heard select.').waitFor()
    await log(page).click({ position: { x: 5, y: 5 } })
    await expect.poll(() => focusedField(page)).toBe('Conversation')
    await page.keyboard.type('ng?')
    expect(await field.inputValue()).toBe('ng?')
    // A selection stays.
    await log(page).getByText('words to select').dblclick()
    await page.keyboard.press('x')
    expect(await field.inputValue()).toBe('ng?')
    expect(await page.evaluate('getSelection().toString().trim()')).toBe('to')
    // Another field keeps its letters.
    await page.getByLabel('Search conversations').click()
    await page.keyboard.type('Older')
    expect(await field.inputValue()).toBe('ng?')
    await page.getByRole('link', { name: /Older|older/ }).click()
    await log(page).getByText('Heard conversation.').waitFor()
    await expect.poll(() => focusedField(page)).toBe('Message')
    expect(await field.inputValue()).toBe('')
    await page.goBack()
    await expect.poll(() => field.inputValue()).toBe('ng?')
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    const title = page.getByRole('dialog').getByLabel('Title')
    await title.fill('abc')
    await page.keyboard.type('d')
    expect(await title.inputValue()).toBe('abcd')
  })

  it('PAGE-4 a touch screen does not open its keyboard by itself', async () => {
    const { page } = await openPage({
      context: { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } },
    })
    await page.getByRole('combobox', { name: 'Message' }).waitFor()
    expect(await focusedField(page)).not.toBe('Message')
  })

  it('PAGE-5 a button to the latest message shows while scrolled up, and not at the end', async () => {
    const { page, fake } = await openPage()
    const line = 'A line that is as long as it takes to be more than one line of the conversation on most screens.'
    fake.respondWith(({ lastUserText }) => ({
      text: `${`${line}\n\n`.repeat(40)}The end of ${lastUserText.trim().split(/\s+/).at(-1)}.`,
    }))
    for (const word of ['one', 'two', 'three']) {
      await say(page, word)
      await log(page).getByText(`The end of ${word}.`).waitFor()
    }
    const newest = page.getByRole('button', { name: 'Jump to latest' })
    expect(await newest.count()).toBe(0)
    await log(page).hover()
    await page.mouse.wheel(0, -100_000)
    await newest.waitFor()
    await page.reload()
    await log(page).getByText('The end of three.').waitFor()
    await log(page).hover()
    await page.mouse.wheel(0, -100_000)
    await newest.click()
    await newest.waitFor({ state: 'detached' })
    await expect.poll(() => log(page).getByText('The end of three.').isVisible()).toBe(true)
    await expect
      .poll(() => log(page).evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight))
      .toBeLessThan(80)
    // A window that grows shows the end without a scroll.
    await page.setViewportSize({ width: 1180, height: 660 })
    await log(page).hover()
    await page.mouse.wheel(0, -150)
    await newest.waitFor()
    await page.setViewportSize({ width: 1180, height: 760 })
    await newest.waitFor({ state: 'detached' })
    // Another conversation, which is short.
    await page.mouse.wheel(0, -100_000)
    await newest.waitFor()
    await page.getByRole('link', { name: 'New conversation' }).click()
    await newest.waitFor({ state: 'detached' })
  })

  it('CMD-1 a table of a command is monospaced, and /fork continues in a copy', async () => {
    const { page, fake } = await openPage()
    fake.reply({ text: 'Hello.' })
    await say(page, 'Hi')
    await log(page).getByText('Hello.').waitFor()
    await finished(page).waitFor()
    const fontOf = async (line: string) => {
      await page.getByRole('region', { name: line }).waitFor()
      return page.evaluate(`getComputedStyle(document.querySelector('section[aria-label="${line}"] pre')).fontFamily`)
    }
    await say(page, '/help')
    expect(await fontOf('/help')).toContain('mono')
    await say(page, '/stop')
    expect(await fontOf('/stop')).not.toContain('mono')
    const before = page.url()
    await say(page, '/fork')
    await page.waitForURL((url) => url.href !== before)
    await page.getByText(/^You are in .* copy now\./).waitFor()
    await log(page).getByText('Hello.').waitFor()
  })

  it('SESS-9 files are attached by drop and paste, can be removed, and reach the model', async () => {
    const { page, fake } = await openPage()
    const field = page.getByRole('combobox', { name: 'Message' })
    for (const event of ['drop', 'paste']) await field.evaluate(givesFile, { event, name: `${event}.png` })
    await page.getByText('drop.png').waitFor()
    await page.getByText('paste.png').waitFor()
    const previews = page.locator('li img')
    await expect
      .poll(() => previews.evaluateAll((all) => all.map((one) => Reflect.get(one, 'naturalWidth'))))
      .toEqual([1, 1])
    await page.getByRole('button', { name: 'Remove paste.png' }).click()
    fake.reply({ text: 'A picture.' })
    await say(page, 'What is this?')
    await log(page).getByText('A picture.').waitFor()
    expect(fake.requests[0]?.bytes).toContain(pixel)
    expect(fake.requests[0]?.bytes).not.toContain('paste.png')
  })

  it('PAGE-4 mentions of notes and the list of commands work with the keyboard', async () => {
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

  it('PAGE-4 mentions of files work with keyboard and mouse, and show hostile names as text', async () => {
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

  it('PAGE-2 a link to a turn opens it however far back it is, and new messages do not move the view', async () => {
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
    await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click()
    expect((await download).suggestedFilename()).toBe('Citrus.md')
    const text = readFileSync(await (await download).path(), 'utf8')
    expect(text).toBe('# Citrus\n\n## You\n\noranges\n\n## Familiar\n\nAbout oranges\n')

    await menu('Archive')
    await sessions(page)
      .getByRole('link', { name: /Citrus/ })
      .waitFor({ state: 'detached' })
    await sessions(page).getByLabel('Show archived').check()
    await sessions(page)
      .getByRole('link', { name: /Citrus/ })
      .waitFor()
  })

  it('PAGE-2 the empty chat says that no model is connected, and its examples are sent with a click', async () => {
    const { page } = await openPage({ model: 'offline', toml: '[memory]\n' })
    await page.getByText('No model is connected.').waitFor()
    await page.getByText('Build a tool that tells me').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Remember that my passport expires in March' }).click()
    await finished(page).getByText('Noted').waitFor()
  })

  it('PAGE-2 with a model, the empty chat has no such notice', async () => {
    const { page } = await openPage()
    await page.getByRole('button', { name: 'Build a tool that tells me' }).waitFor()
    expect(await page.getByText('No model is connected.').count()).toBe(0)
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
