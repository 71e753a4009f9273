import { spawnSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserBench, hasChromium, openBrowserBench } from '../../../test/support/browser-bench.ts'
import { type LocalSite, openLocalSite } from '../../../test/support/local-site.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { inspectBrowser } from './browsers.ts'

const shop = `<!doctype html><title>Shop\u202e</title><h1>Tea shop</h1>
<p>We sell <b>tea</b>. <a href="/cart?x=1">Cart</a> <a href="https://elsewhere.example/a">Elsewhere</a></p>
<p style="display:none">HIDDEN ORDERS</p>
<form action="/search"><label>Search <input name="q"></label>
<select name="kind" aria-label="Kind"><option>Green<option>Black</select><button>Go</button></form>
<button onclick="this.textContent = 'Pressed'">Press me</button>
<button onclick="alert('hello')">Ask</button>
<a href="/file" download>Download</a> <button onclick="window.open('/popup')">New window</button>
<table><tr><th>Kind<th>Price<tr><td>Green<td>4</table>`

/** The content that would be on disk if a download had been accepted. */
const downloaded = `download of ${process.pid}`

let site: LocalSite
let other: LocalSite
let bench: BrowserBench

describe.skipIf(!hasChromium)('browser (needs chromium)', () => {
  beforeAll(async () => {
    other = await openLocalSite((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<label>Secret <input name="s"></label>'),
    )
    site = await openLocalSite(({ url, headers }, response) => {
      const { pathname, search } = new URL(url, 'http://site')
      response.setHeader('content-type', 'text/html; charset=utf-8')
      if (pathname === '/') response.end(shop)
      else if (pathname === '/search') response.end(`<title>Found</title><p>You asked for ${search}`)
      else if (pathname === '/login')
        response.end('<label>Name <input></label><label>Word <input type="password"></label>')
      else if (pathname === '/framed') response.end(`<iframe src="http://localhost:${other.port}/"></iframe>`)
      else if (pathname === '/popup')
        response.end('<title>Pop</title><p>Another page<button onclick="window.close()">Done</button>')
      else if (pathname === '/flood')
        response.end(`<button onclick="for (let i = 0; i < 20; i += 1) window.open('/popup', 'w' + i)">Flood</button>`)
      else if (pathname === '/cookie') {
        response.setHeader('set-cookie', 'seen=1; max-age=1000').end(`<p>cookie: ${headers.cookie ?? 'none'}`)
      } else if (pathname === '/file') {
        response
          .setHeader('content-type', 'application/zip')
          .setHeader('cache-control', 'no-store')
          .setHeader('content-disposition', 'attachment')
          .end(`PK ${downloaded}`)
      } else if (pathname === '/long')
        response.end(Array.from({ length: 2_000 }, (_, i) => `<p>line ${i}</p>`).join(''))
      else if (pathname === '/asks') {
        response.end(`<p id="p">waiting</p><script>navigator.geolocation.getCurrentPosition(() => 0, (e) => { p.textContent = 'place: ' + e.code })
          Notification.requestPermission().then((a) => document.body.append(' notices: ' + a))</script>`)
      } else response.writeHead(404).end()
    })
    bench = await openBrowserBench({
      allowedHosts: [
        { host: '127.0.0.1', port: site.port },
        { host: 'localhost', port: other.port },
      ],
    })
  }, 60_000)

  afterAll(async () => {
    await bench?.end()
    await Promise.all([site?.close(), other?.close()])
  })

  const open = (path = '/') => bench.run({ action: 'open', url: `${site.origin}${path}` })
  const refOf = (text: string, name: string) => new RegExp(`\\[(\\w+)\\] \\w+ "${name}`).exec(text)?.[1] ?? ''

  it('SEC-6 opens a page and lists its content, with references, labeled untrusted', async () => {
    const outcome = await open()
    expect(outcome).toMatchObject({ isError: false, label: 'untrusted' })
    expect(outcome.text.replaceAll(/\[\w+\] /g, '[ref] ')).toBe(
      [
        '# Shop',
        `${site.origin}/`,
        '',
        '# Tea shop',
        'We sell tea. [ref] link "Cart" → /cart?x=1 [ref] link "Elsewhere" → https://elsewhere.example/a',
        'Search [ref] textbox "Search"',
        '[ref] combobox "Kind" {*Green*, Black} [ref] button "Go"',
        '[ref] button "Press me" [ref] button "Ask" [ref] link "Download" → /file [ref] button "New window"',
        '| Kind | Price |',
        '| Green | 4 |',
      ].join('\n'),
    )
  })

  it('clicks, types, chooses, submits and goes back', async () => {
    const { text } = await open()
    const { origin: url } = site
    const pressed = await bench.run({ action: 'click', url, ref: refOf(text, 'Press me') })
    expect(pressed.text).toContain('button "Pressed"')
    await bench.run({ action: 'type', url, ref: refOf(text, 'Kind'), text: 'Black' })
    const found = await bench.run({ action: 'type', url, ref: refOf(text, 'Search'), text: 'a & b', submit: true })
    expect(found.text).toContain('# Found')
    expect(found.text).toContain('You asked for ?q=a+%26+b&kind=Black')
    expect((await bench.run({ action: 'back' })).text).toContain('# Tea shop')
  })

  it('SEC-6 does nothing to an element of another origin than the given one', async () => {
    const { text } = await open('/framed')
    const ref = refOf(text, 'Secret')
    const typed = await bench.run({ action: 'type', url: site.origin, ref, text: 'private' })
    expect(typed).toMatchObject({ isError: true, text: expect.stringContaining('Nothing was done') })
    expect((await bench.run({ action: 'read' })).text).not.toContain('private')
    const named = await bench.run({ action: 'type', url: `http://localhost:${other.port}`, ref, text: 'meant' })
    expect(named.text).toContain('textbox "Secret" = "meant"')
  })

  it('SEC-6 reports to policy what each action does, and where', () => {
    const reachOf = (input: Record<string, string>) => bench.tool.reach(input)
    expect(reachOf({ action: 'open', url: 'https://example.com/a?b' })).toEqual({
      kind: 'reach',
      destination: 'https://example.com',
    })
    expect(reachOf({ action: 'type', url: 'https://example.com', ref: 'e1', text: 'x' }).destination).toBe(
      'https://example.com',
    )
    for (const action of ['open', 'click', 'type', 'back']) {
      expect(reachOf({ action, ref: 'e1', text: 'x' })).toEqual({ kind: 'reach', destination: null })
    }
    expect(reachOf({ action: 'open', url: 'file:///etc/passwd' })).toEqual({ kind: 'reach', destination: null })
    for (const action of ['read', 'screenshot', 'close']) expect(reachOf({ action }).kind).toBe('read')
  })

  it.each([
    'file:///etc/passwd',
    'chrome://settings',
    'about:blank',
    'data:text/html,x',
    'javascript:1',
    'view-source:http://a/',
    '',
  ])('opens only web addresses: %s', async (url) => {
    expect(await bench.run({ action: 'open', url })).toMatchObject({ isError: true })
  })

  it('reports what is missing, and what no longer exists', async () => {
    await open()
    const { origin: url } = site
    expect((await bench.run({ action: 'click', ref: 'e1' })).text).toContain('needs ref and url')
    expect((await bench.run({ action: 'type', url, ref: 'e1' })).text).toContain('text: must be given')
    expect((await bench.run({ action: 'click', url, ref: 'e9999' })).text).toContain('There is no e9999')
    expect((await bench.run({ action: 'click', url, ref: '#id' })).text).toContain('Bad arguments')
    expect((await bench.run({ action: 'read' }, { sessionId: 'nobody' })).text).toContain('No page is open')
  })

  it('answers dialogs of a page with no, and accepts no download', async () => {
    const { text } = await open()
    const { origin: url } = site
    expect(await bench.run({ action: 'click', url, ref: refOf(text, 'Ask') })).toMatchObject({ isError: false })
    expect(await bench.run({ action: 'click', url, ref: refOf(text, 'Download') })).toMatchObject({ isError: false })
    expect(await open('/file')).toMatchObject({ isError: true, text: expect.stringContaining('file download') })
    const places = [
      bench.directory,
      ...(await readdir(tmpdir())).filter((name) => name.startsWith('playwright')).map((name) => join(tmpdir(), name)),
    ]
    expect(spawnSync('grep', ['-rl', downloaded, ...places], { encoding: 'utf8' }).stdout).toBe('')
    const asked = await open('/asks')
    expect(asked.isError).toBe(false)
    for (;;) {
      const { text: now } = await bench.run({ action: 'read' })
      if (!now.includes('place: ') || !now.includes('notices: ')) continue
      expect(now).toContain('place: 1')
      expect(now).toContain('notices: denied')
      break
    }
  })

  it('follows a page into the window that it opens, and back', async () => {
    const { text } = await open()
    const popup = await bench.run({ action: 'click', url: site.origin, ref: refOf(text, 'New window') })
    expect(popup.text).toContain('Another page')
    const after = await bench.run({ action: 'click', url: site.origin, ref: refOf(popup.text, 'Done') })
    expect(after.text).toContain('# Tea shop')
  })

  // A busy machine may be too slow for a click among a hundred windows.
  it('closes the oldest page when too many are open, and never one in use', {
    timeout: 120_000,
    retry: 2,
  }, async () => {
    const many = await openBrowserBench({ allowedHosts: [{ host: '127.0.0.1', port: site.port }] })
    const visit = (sessionId: string, path = '/popup') =>
      many.run({ action: 'open', url: `${site.origin}${path}` }, { sessionId })
    const read = (sessionId: string) => many.run({ action: 'read' }, { sessionId })
    for (let number = 1; number <= 15; number += 1)
      expect((await visit(`s${number}`)).text, `session ${number}`).toContain('Another page')
    expect((await read('s1')).text).toContain('No page is open')
    expect((await read('s15')).text).toContain('Another page')
    expect((await visit('s1')).text).toContain('Another page')

    // A session that keeps opening windows takes no page from another one.
    await read('s14')
    let { text } = await visit('flood', '/flood')
    const flooded = await many.run(
      { action: 'click', url: site.origin, ref: refOf(text, 'Flood') },
      { sessionId: 'flood' },
    )
    expect(flooded.isError, flooded.text).toBe(false)
    for (const sessionId of ['s14', 's15', 's1', 'flood'])
      expect((await read(sessionId)).isError, sessionId).toBe(false)
    text = (await visit('after')).text
    expect(text).toContain('Another page')
    await many.end()
  })

  it('cuts a long page and continues on request', async () => {
    const first = await open('/long')
    const offset = Number(/\[\d+ more characters: offset (\d+)\]$/.exec(first.text)?.[1])
    expect(offset).toBeGreaterThan(0)
    const second = await bench.run({ action: 'read', offset })
    expect(second.text).toContain('line ')
    expect(second.text).not.toContain('line 0\n')
  })

  it('stores a screenshot', async () => {
    await open()
    const outcome = await bench.run({ action: 'screenshot' })
    expect(outcome).toMatchObject({ isError: false, media: [{ mediaType: 'image/jpeg', name: 'screenshot.jpg' }] })
    const data = bench.files.get(outcome.media?.[0]?.hash ?? '') ?? new Uint8Array()
    expect([...data.subarray(0, 2)]).toEqual([0xff, 0xd8])
  })

  it('SEC-22 separates the cookies of users', async () => {
    const visit = (userId: string) =>
      bench.run({ action: 'open', url: `${site.origin}/cookie` }, { userId, sessionId: `of ${userId}` })
    await visit('max')
    expect((await visit('max')).text).toContain('cookie: seen=1')
    expect((await visit('eve')).text).toContain('cookie: none')
    expect((await bench.run({ action: 'close' }, { userId: 'eve', sessionId: 'of eve' })).text).toBe('Closed.')
  })

  it('SEC-6 treats its content as private after a sign-in, also after a restart', async () => {
    const proxy = { allowedHosts: [{ host: '127.0.0.1', port: site.port }] }
    const first = await openBrowserBench(proxy)
    const login = await first.run({ action: 'open', url: `${site.origin}/login` })
    expect(login.isPrivate).toBeUndefined()
    const url = site.origin
    const typed = await first.run({ action: 'type', url, ref: refOf(login.text, 'Name'), text: 'max' })
    expect(typed.isPrivate).toBeUndefined()
    const signedIn = await first.run({ action: 'type', url, ref: refOf(login.text, 'Word'), text: 'secret' })
    expect(signedIn).toMatchObject({ isError: false, isPrivate: true })
    expect(signedIn.text).not.toContain('secret')
    await first.close()
    expect(await first.run({ action: 'open', url: `${url}/` })).toMatchObject({ isPrivate: true })
    await first.end()
  }, 60_000)

  it('SEC-13 the browser does not see our environment', async () => {
    process.env.CANARY_OF_TEST = 'canary-5fa1'
    const fresh = await openBrowserBench({ allowedHosts: [{ host: '127.0.0.1', port: site.port }] })
    await fresh.run({ action: 'open', url: site.origin })
    const environments = await Promise.all(
      (await processesWith(fresh.directory)).map((name) => readFile(`/proc/${name}/environ`, 'utf8').catch(() => '')),
    )
    expect(environments.some((text) => text.includes('HOME='))).toBe(true)
    expect(environments.filter((text) => text.includes('canary-5fa1'))).toEqual([])
    delete process.env.CANARY_OF_TEST
    await fresh.end()
  }, 60_000)

  it('stops waiting when the turn is stopped', async () => {
    const stopping = new AbortController()
    const slow = await openLocalSite(() => stopping.abort(new Error('stopped')))
    const waiting = await openBrowserBench({ allowedHosts: [{ host: '127.0.0.1', port: slow.port }] })
    const opening = waiting.run({ action: 'open', url: slow.origin }, { signal: stopping.signal })
    await expect(opening).rejects.toThrow('stopped')
    await waiting.end()
    await slow.close()
  }, 60_000)

  it('closes after minutes without use, with all its processes', async () => {
    const clock = createManualClock()
    const idle = await openBrowserBench({ allowedHosts: [{ host: '127.0.0.1', port: site.port }] }, { clock })
    await idle.run({ action: 'open', url: site.origin })
    expect((await processesWith(idle.directory)).length).toBeGreaterThan(1)
    await clock.advance(9 * 60_000)
    expect(await idle.run({ action: 'read' })).toMatchObject({ isError: false })
    await clock.advance(9 * 60_000)
    expect((await processesWith(idle.directory)).length).toBeGreaterThan(1)
    await clock.advance(60_000)
    while ((await processesWith(idle.directory)).length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
    expect((await idle.run({ action: 'read' })).text).toContain('No page is open')
    await idle.end()
  }, 60_000)
})

describe('browser without Chromium', () => {
  it('says how to install one, and downloads none', async () => {
    const none = await openBrowserBench({}, { searchPath: '/nowhere' })
    expect(await none.run({ action: 'open', url: 'https://example.com' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/Chromium is not installed.*\[tools\.browser\]/s),
    })
    await none.end()
  })

  it('reports to doctor what exists and its weaknesses', async () => {
    const places = { executable: null, searchPath: '/nowhere' }
    expect(await inspectBrowser(places, false)).toMatchObject({
      executable: null,
      problem: expect.stringContaining('install'),
    })
    const named = { executable: '/bin/sh', searchPath: '' }
    expect(await inspectBrowser(named, false)).toEqual({ executable: '/bin/sh', problem: null })
    expect(await inspectBrowser(named, true)).toMatchObject({ problem: expect.stringContaining('root') })
  })
})

async function processesWith(mark: string): Promise<string[]> {
  const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(numbers.map((name) => readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')))
  return numbers.filter((_, index) => lines[index]?.includes(mark))
}
