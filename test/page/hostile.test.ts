import { expect, it } from 'vitest'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { describePage } from './support/describe-page.ts'
import { openPage, say } from './support/open-page.ts'
import { screenPaths, walkScreen } from './support/walk-screens.ts'

/** Each would set `fired` on the window, or ask somebody else, if it were anything but text. */
const hostile = [
  '<img src=x onerror="window.fired=1">',
  '<script>window.fired=1</script>',
  '"><svg onload=window.fired=1>',
  '<iframe srcdoc="<script>parent.fired=1</script>"></iframe>',
  '[click](javascript:window.fired=1)',
  '![p](https://evil.example/pixel.png)',
  '<link rel=stylesheet href=https://evil.example/x.css>',
  '{{constructor.constructor("window.fired=1")()}}',
  '</title><base href="https://evil.example/">',
]
const all = hostile.join('\n\n')

describePage('hostile text', () => {
  it('PAGE-3 in names, titles, tags, tool output and file names is shown as text, and nothing of it happens', async () => {
    const card = {
      title: hostile[0] ?? '',
      html: '<p>card</p>',
      text: all,
      accentColor: null,
      backgroundColor: null,
      icon: null,
    }
    const look = toolOf('look', async () => ({ ...said(all), card, label: 'untrusted' }))
    const { page, fake, familiar, url } = await openPage({ daemon: { extraTools: [look] } })
    const send = async (method: string, path: string, body: object) => {
      const response = await familiar.request(method, `/api/v1${path}`, body)
      expect(response.ok, `${path}: ${await response.clone().text()}`).toBe(true)
    }
    for (const [index, text] of hostile.entries()) {
      await send('POST', '/memories', {
        content: `${index} ${text}`,
        title: text,
        tags: [text],
        category: text.slice(0, 60),
      })
      await send('POST', '/memories/facts', { entity: text, attribute: text, value: text })
      await send('POST', '/memories/commitments', { what: text, to_whom: text })
    }
    await send('PUT', '/blocks/notes.md', { content: all })
    await send('POST', '/pins', { label: 'notes.md' })
    await send('POST', '/schedules', { cron: '0 8 * * *', message: all })

    fake.reply([
      { thinking: { text: all }, text: all, toolCalls: [{ name: 'look', input: { [hostile[0] ?? '']: all } }] },
      { text: all },
    ])
    await page.locator('input[type=file]').setInputFiles({
      name: '<img src=x onerror="window.fired=1">.png',
      mimeType: 'image/png',
      buffer: Buffer.from('x'),
    })
    await say(page, all)
    await page.locator('article[aria-busy=false]').waitFor()
    const log = page.getByRole('log')
    const folded = log.getByRole('button', { expanded: false })
    while ((await folded.count()) > 0) await folded.first().click()
    expect(await log.getByText('<script>window.fired=1</script>').count()).toBeGreaterThan(2)

    const session = /\/talk\/([\w-]+)$/.exec(page.url())?.[1]
    await send('PUT', `/sessions/${session}/title`, { title: hostile[0] ?? '' })
    await page.reload()
    await page.getByRole('heading', { name: hostile[0] ?? '' }).waitFor()
    const seen: string[] = []
    for (const path of await screenPaths(page)) {
      for await (const name of walkScreen(page, url, path)) {
        // What a person could press there, short of what changes something.
        if ((await page.getByRole('main').textContent())?.includes('window.fired')) seen.push(name)
        expect(await made(page.evaluate(strangeElements)), name).toEqual([])
        expect(await page.evaluate('window.fired'), name).toBeUndefined()
      }
    }
    // It was there to be seen, or this test shows nothing.
    expect(seen.map((name) => name.split(' ')[0])).toEqual(expect.arrayContaining(['/memory', '/schedules']))
  })
})

const made = async (found: Promise<unknown>) => (await found) as string[]

/** Runs in the page: elements that only hostile text could have made. */
const strangeElements = `[...document.querySelectorAll('main img, main script, main base, main link, main svg[onload], main iframe[srcdoc*="fired"], a[href^="javascript"]')]
  .map((element) => element.outerHTML)`
