import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, expect, it } from 'vitest'
import { cleanUp } from '../e2e/cli-process.ts'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { openBrowser } from './support/chromium.ts'
import { openCuttingProxy } from './support/cutting-proxy.ts'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say, signIn } from './support/open-page.ts'
import { startPageDaemon } from './support/page-daemon.ts'

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const waiting = (page: Page) => log(page).getByText('Waiting for connection')
const answers = (page: Page) => log(page).locator('article[aria-busy=false]')

/** The worker is in charge of the page. */
const controlled = (page: Page) =>
  expect.poll(() => page.evaluate('navigator.serviceWorker.controller !== null'), { timeout: 20_000 }).toBe(true)

/** A page behind a proxy that can be cut. */
async function openBehindProxy(options: { serviceWorkers?: 'allow' } = {}) {
  const opened = await openPage()
  const proxy = await openCuttingProxy(opened.familiar.daemon.url)
  const context = await opened.newContext({ origins: [proxy.url], ...options })
  const page = await context.newPage()
  await signIn(page, (await opened.signInLink()).replace(opened.familiar.daemon.url, proxy.url))
  return { ...opened, proxy, context, page }
}

const everyCachedUrl = `caches.keys().then(async (names) => (await Promise.all(names.map(async (name) =>
  (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname)))).flat())`

describePage('the installed app', () => {
  afterEach(cleanUp)

  it('PAGE-21 the manifest names icons that exist, a shortcut and a share target', async () => {
    const { page, url } = await openPage()
    const link = await page.locator('link[rel=manifest]').getAttribute('href')
    const manifest = (await (await fetch(`${url}${link}`)).json()) as {
      icons: { src: string; sizes: string; type: string; purpose?: string }[]
      shortcuts: { name: string; url: string }[]
      share_target: { action: string }
    }
    expect(manifest.icons.map(({ sizes, purpose = 'any' }) => `${sizes} ${purpose}`)).toEqual([
      'any any',
      '192x192 any',
      '512x512 any',
      '512x512 maskable',
    ])
    for (const { src, sizes, type } of manifest.icons) {
      const size = (await page.evaluate(`(async () => {
        const image = new Image(); image.src = '${src}'; await image.decode(); return image.naturalWidth + 'x' + image.naturalHeight })()`)) as string
      if (type === 'image/png') expect(size).toBe(sizes)
    }
    expect(manifest.shortcuts[0]).toMatchObject({ name: 'New conversation', url: '/' })
    const devtools = await page.context().newCDPSession(page)
    const { errors } = await devtools.send('Page.getAppManifest')
    expect(errors).toEqual([])
  })

  it('PAGE-21 with the daemon down the page opens, says how to start it, and returns by itself', async () => {
    const fake = await startFakeModel()
    const daemon = await startPageDaemon(fake.url)
    const context = await (await openBrowser()).newContext({ serviceWorkers: 'allow' })
    const page = await context.newPage()
    await signIn(page, await daemon.signInLink())
    await controlled(page)
    expect(await page.evaluate(everyCachedUrl)).toEqual(expect.arrayContaining(['/index.html', '/icon.svg']))
    expect((await page.evaluate(everyCachedUrl)) as string[]).not.toContainEqual(expect.stringContaining('/api/'))
    await daemon.kill()
    await page.goto(`${daemon.url}/memory`)
    await page.getByRole('alert').getByText('Familiar is not running').waitFor()
    await page
      .locator('code')
      .getByText(/familiar.* start/)
      .waitFor()
    expect(await findFaults(page)).toEqual([])
    await daemon.start()
    await page.getByRole('heading', { name: 'Memory', level: 1 }).waitFor()
    await context.close()
    await fake.close()
  })

  it('PAGE-21 signing out removes the worker and everything that it kept', async () => {
    const { newContext, signInLink, url } = await openPage()
    const page = await (await newContext({ serviceWorkers: 'allow' })).newPage()
    await signIn(page, await signInLink())
    await controlled(page)
    await page.goto(`${url}/settings/browsers`)
    await page
      .getByRole('listitem')
      .filter({ hasText: 'This browser' })
      .getByRole('button', { name: 'Sign out' })
      .click()
    await page
      .getByLabel('Paste the link or code')
      .or(page.getByRole('button', { name: 'Sign in' }))
      .first()
      .waitFor()
    await expect
      .poll(() => page.evaluate('navigator.serviceWorker.getRegistrations().then(({ length }) => length)'))
      .toBe(0)
    expect(await page.evaluate('caches.keys()')).toEqual([])
    expect(await page.evaluate('indexedDB.databases().then((all) => all.map(({ name }) => name))')).not.toContain(
      'familiar.waiting',
    )
  })

  it('PAGE-21 a new page replaces the old one at once, and a server without a worker removes it', async () => {
    const site = await startVersions()
    const context = await (await openBrowser()).newContext({ serviceWorkers: 'allow' })
    const page = await context.newPage()
    await page.goto(site.url)
    await page.evaluate(`navigator.serviceWorker.register('/sw.js', { updateViaCache: 'none' })`)
    await controlled(page)
    const before = await page.evaluate('caches.keys()')
    site.serve('second')
    await page.reload()
    expect(await page.locator('h1').textContent()).toBe('second')
    await page.evaluate('navigator.serviceWorker.getRegistration().then((found) => found.update())')
    await expect.poll(() => page.evaluate('caches.keys()')).not.toEqual(before)
    await expect.poll(async () => ((await page.evaluate('caches.keys()')) as string[]).length).toBe(1)
    site.serve('down')
    await page.reload()
    expect(await page.locator('h1').textContent()).toBe('second')
    site.serve('third')
    site.withoutWorker()
    await stopWorkers(context, page)
    await page.goto(`${site.url}/again`)
    expect(await page.locator('h1').textContent()).toBe('third')
    await expect
      .poll(() => page.evaluate('navigator.serviceWorker.getRegistrations().then(({ length }) => length)'))
      .toBe(0)
    expect(await page.evaluate('caches.keys()')).toEqual([])
    await context.close()
    await site.close()
  })

  it('PAGE-21 content that another app shares is the draft of a new conversation, and nothing is sent', async () => {
    const { newContext, signInLink, fake } = await openPage()
    const page = await (await newContext({ serviceWorkers: 'allow' })).newPage()
    await signIn(page, await signInLink())
    await controlled(page)
    await page.evaluate(`(() => {
      const form = document.createElement('form')
      form.method = 'POST'; form.action = '/share'; form.enctype = 'multipart/form-data'
      for (const [name, value] of [['title', 'A recipe'], ['text', 'Bread with seeds'], ['url', 'https://bread.example/seeds']]) {
        const field = document.createElement('input'); field.name = name; field.value = value; form.append(field)
      }
      const files = document.createElement('input'); files.type = 'file'; files.name = 'files'
      const transfer = new DataTransfer(); transfer.items.add(new File(['flour'], 'list.txt', { type: 'text/plain' }))
      files.files = transfer.files; form.append(files)
      document.body.append(form)
    })()`)
    // The policy of the page forbids its own forms; a share comes from the system.
    await page.evaluate(
      `fetch('/share', { method: 'POST', body: new FormData(document.querySelector('form[action="/share"]')), redirect: 'manual' })`,
    )
    await page.goto(new URL('/?shared', page.url()).href)
    const field = page.getByRole('combobox', { name: 'Message' })
    await expect.poll(() => field.inputValue()).toBe('A recipe\nBread with seeds\nhttps://bread.example/seeds')
    await page.getByRole('button', { name: 'Remove list.txt' }).waitFor()
    expect(new URL(page.url()).search).toBe('')
    expect(fake.requests).toEqual([])
  })
})

describePage('messages without a connection', () => {
  afterEach(cleanUp)

  it('PAGE-22 messages wait while the daemon is down, over a reload, and are sent once and in order', async () => {
    const { proxy, page, fake } = await openBehindProxy({ serviceWorkers: 'allow' })
    await controlled(page)
    fake.respondWith(({ bytes }) => ({ text: `Heard ${bytes.includes('Third') ? 'all' : 'some'}.` }))
    await say(page, 'First')
    await answers(page).waitFor()
    proxy.cut()
    await page.getByText('Connection lost.').waitFor()
    await say(page, 'Second')
    await waiting(page).waitFor()
    await say(page, 'A mistake')
    await say(page, 'Third')
    await expect.poll(() => waiting(page).count()).toBe(3)
    await log(page)
      .locator('div', { has: page.getByText('A mistake', { exact: true }) })
      .last()
      .locator('xpath=ancestor::div[contains(@class, "group")]')
      .getByRole('button', { name: 'Cancel' })
      .click()
    await expect.poll(() => waiting(page).count()).toBe(2)
    await page.reload()
    await page.getByRole('alert').getByText('Familiar is not running').waitFor()
    const kept = page.getByRole('region', { name: 'Messages that will be sent then' }).getByRole('listitem')
    await expect.poll(() => kept.count()).toBe(2)
    expect((await kept.allInnerTexts()).map((text) => text.split('\n')[0])).toEqual(['Second', 'Third'])
    proxy.mend()
    await expect.poll(() => waiting(page).count(), { timeout: 30_000 }).toBe(0)
    await log(page).getByText('Heard all.').waitFor()
    const said = await log(page)
      .getByText(/^(First|Second|A mistake|Third)$/)
      .allInnerTexts()
    expect(said).toEqual(['First', 'Second', 'Third'])
    await proxy.close()
  })

  it('PAGE-22 a message whose reply is lost in the middle is answered once', async () => {
    const { proxy, page, fake, familiar } = await openBehindProxy()
    fake.reply([{ text: 'Ready.' }, { text: 'Once.' }])
    await say(page, 'Hello')
    await answers(page).waitFor()
    // The daemon gets the message; its receipt does not come back.
    let hasCut = false
    await page.route('**/api/v1/messages', async (route) => {
      if (hasCut) return route.continue()
      hasCut = true
      await route.fetch()
      await route.abort('connectionreset')
    })
    await say(page, 'Only once, please')
    await answers(page).nth(1).waitFor()
    await expect.poll(() => waiting(page).count()).toBe(0)
    await log(page).getByText('Once.').waitFor()
    expect(await log(page).getByText('Only once, please', { exact: true }).count()).toBe(1)
    const { sessions } = (await (await familiar.request('GET', '/api/v1/sessions')).json()) as {
      sessions: { events: number }[]
    }
    expect(sessions).toHaveLength(1)
    await proxy.close()
  })

  it('PAGE-22 a new conversation that starts without a connection is sent from another tab, and shown in both', async () => {
    const { proxy, page, context, fake } = await openBehindProxy()
    fake.reply({ text: 'Welcome back.' })
    const other = await context.newPage()
    await other.goto(`${proxy.url}/schedules`)
    await other.getByRole('heading', { name: 'Schedules' }).first().waitFor()
    proxy.cut()
    await page.getByText('Familiar cannot be reached.').waitFor()
    await say(page, 'Anybody there?')
    await waiting(page).waitFor()
    proxy.mend()
    await log(page).getByText('Welcome back.').waitFor()
    await page.waitForURL('**/talk/*')
    expect(await log(page).getByText('Anybody there?', { exact: true }).count()).toBe(1)
    await other.getByRole('link', { name: /Anybody there/ }).waitFor()
    await proxy.close()
  })
})

/** Idle workers stop by themselves after a while. */
async function stopWorkers(context: BrowserContext, page: Page): Promise<void> {
  const devtools = await context.newCDPSession(page)
  await devtools.send('ServiceWorker.enable')
  await devtools.send('ServiceWorker.stopAllWorkers')
  await devtools.detach()
}

/** The built worker in front of a page whose versions differ in one word. */
async function startVersions() {
  const built = readFileSync(join(import.meta.dirname, '../../.runtime/page/sw.js'), 'utf8')
  const own = /familiar-page-[^0-9a-f]*([0-9a-f]{16})/.exec(built)?.[1] ?? /\b[0-9a-f]{16}\b/.exec(built)?.[0] ?? ''
  let version = 'first'
  let hasWorker = true
  const server = createServer((request, response) => {
    if (version === 'down') return void request.socket.destroy()
    const path = new URL(request.url ?? '/', 'http://site').pathname
    if (path === '/sw.js' && !hasWorker) return void response.writeHead(404).end()
    const isWorker = path === '/sw.js'
    response.writeHead(200, { 'content-type': isWorker ? 'text/javascript' : 'text/html', 'cache-control': 'no-cache' })
    // A build has its own version, so that its worker differs.
    response.end(isWorker ? built.replaceAll(own, `${own}-${version}`) : `<h1>${version}</h1>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(next: string) {
      version = next
    },
    withoutWorker() {
      hasWorker = false
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
