import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type BrowserContext, type CDPSession, chromium, type Frame, type Page, type Route } from 'playwright-core'
import { cell, columns, type Exhibit, serveVectors } from './vector-server.ts'
import type { Vector } from './vectors/all-vectors.ts'

export const chromiumPath = '/usr/bin/chromium'
export const hasChromium = existsSync(chromiumPath)
export const chromiumArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const pageSize = 100
const settleMs = 400
const loadMs = 3_000
const clickMs = 100
const clickable = /<a[\s>]|<area|<button|<input|<summary|<form|href|click|mouse|pointer|popover|ping=/i

/** The effect of a vector: by its number, or `0` if it names none. */
export type Findings = Map<number, Set<string>>

/**
 * Shows every vector in Chromium, moves over it and clicks it, and tells what got through: script that ran, a request or
 * a name that was looked up, a navigation, a window, a dialog. Names that are looked up ahead of time are in no event
 * of the page, so the browser's own log of its network is read too; such hints work in a lasting profile only.
 */
export async function probeVectors(exhibit: Exhibit, vectors: readonly Vector[]): Promise<Findings> {
  const findings: Findings = new Map()
  const note = (text: string, what: string) => {
    const id = Number(/9\d{5}/.exec(text)?.[0] ?? 0)
    findings.set(id, (findings.get(id) ?? new Set()).add(what))
  }
  const server = await serveVectors(exhibit, vectors)
  const profile = await mkdtemp(join(tmpdir(), 'familiar-cards-'))
  const networkLog = join(profile, 'network.json')
  try {
    const context = await chromium.launchPersistentContext(join(profile, 'profile'), {
      executablePath: chromiumPath,
      args: [...chromiumArguments, `--log-net-log=${networkLog}`],
      viewport: { width: columns * cell.width, height: (pageSize / columns) * cell.height },
      acceptDownloads: false,
    })
    await context.route(
      (url) => url.origin !== server.origin || url.pathname.startsWith('/leak'),
      (route) => answer(route, note),
    )
    for (let from = 0; from < vectors.length; from += pageSize) {
      const shown = vectors.slice(from, from + pageSize)
      await visit({ context, url: `${server.origin}/page/${from}-${from + pageSize}`, shown, note })
    }
    await context.close()
    for (const [host] of (await readFile(networkLog, 'utf8')).matchAll(/v9\d{5}\.leak\.test/g)) note(host, 'network')
    for (const path of server.strayRequests) note(path, 'request')
  } finally {
    server.close()
    await rm(profile, { recursive: true, force: true })
  }
  return findings
}

type Note = (text: string, what: string) => void

interface Visit {
  context: BrowserContext
  url: string
  shown: readonly Vector[]
  note: Note
}

/** Outgoing requests are answered here, so that loaded script can run; a navigation is answered with nothing. */
async function answer(route: Route, note: Note): Promise<void> {
  const request = route.request()
  const url = request.url()
  note(url, 'request')
  if (request.isNavigationRequest()) return route.fulfill({ status: 204 })
  const id = /9\d{5}/.exec(url)?.[0]
  if (url.endsWith('.js')) return route.fulfill({ contentType: 'text/javascript', body: `console.log(${id})` })
  return route.fulfill({
    status: 200,
    contentType: 'text/plain',
    body: '',
    headers: { 'access-control-allow-origin': '*' },
  })
}

async function visit({ context, url, shown, note }: Visit): Promise<void> {
  const page = await context.newPage()
  let isTouched = false
  const opened = (other: Page) => {
    if (other === page) return
    note(other.url(), 'window')
    void other.close().catch(() => undefined)
  }
  context.on('page', opened)
  page.on('console', (message) => {
    if (message.type() === 'log') note(message.text(), 'script')
  })
  page.on('pageerror', (error) => note(error.message, 'script'))
  page.on('dialog', (dialog) => {
    note(dialog.message(), 'dialog')
    void dialog.dismiss().catch(() => undefined)
  })
  page.on('framenavigated', (frame) => {
    const name = nameOf(frame)
    // Chromium reports a frame within a frame once with the address ":", before it loads anything; where it goes follows.
    const isFirst = frame.url().endsWith(`/one/${name.slice(1)}`) || /^(about:(blank|srcdoc)|:)?$/.test(frame.url())
    if (frame === page.mainFrame() ? frame.url() === url : isFirst) return
    // An empty page in place of the card: nothing has left. Only a click may do that.
    const isStopped = frame.url().startsWith('chrome-error:') || frame.url() === 'about:blank#blocked'
    if (!isStopped) note(name, 'navigation')
    else if (frame.parentFrame() === page.mainFrame()) note(name, isTouched ? 'stopped click' : 'navigation')
  })
  await page.goto(url, { waitUntil: 'domcontentloaded' })
  // A vector that navigates to a dead address keeps the page loading endlessly.
  await Promise.race([page.waitForLoadState('load').catch(() => undefined), pause(loadMs)])
  await pause(settleMs)
  isTouched = true
  await clickAll(await context.newCDPSession(page), shown)
  await pause(settleMs)
  context.off('page', opened)
  await page.close()
}

/** Without waiting for what a click does: a dialog that it opens would hold up the next. */
async function clickAll(session: CDPSession, shown: readonly Vector[]): Promise<void> {
  for (const [at, { html }] of shown.entries()) {
    if (!clickable.test(html)) continue
    const point = { x: (at % columns) * cell.width + 28, y: Math.floor(at / columns) * cell.height + 18 }
    const press = { ...point, button: 'left', clickCount: 1 } as const
    void session.send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...point }).catch(() => undefined)
    void session.send('Input.dispatchMouseEvent', { type: 'mousePressed', ...press }).catch(() => undefined)
    const released = session.send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...press })
    await Promise.race([released.catch(() => undefined), pause(clickMs)])
  }
}

/** The name of the frame of the vector that this frame is, or is in. */
function nameOf(frame: Frame): string {
  const parent = frame.parentFrame()
  return parent?.parentFrame() ? nameOf(parent) : frame.name()
}
