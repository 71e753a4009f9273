import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import type { Clock } from '../../base/clock.ts'
import { ensurePrivateDirectory, readBytes, writeFileAtomically } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import { findProgram } from '../../base/processes.ts'
import { reasonOf } from '../../base/text.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { LoopbackProxy } from '../../security/network/sandbox-proxy.ts'

export interface BrowserNeeds {
  settings: () => { executable: string | null }
  searchPath: string
  directory: string
  openProxy: () => Promise<LoopbackProxy>
  isRoot: boolean
  clock: Clock
}

/** One browser per user, with a page per session. Closed after idle minutes. */
export type Browsers = ReturnType<typeof createBrowsers>

interface OpenBrowser {
  context: BrowserContext
  proxy: LoopbackProxy
  /** In the profile, next to the cookies that it describes. */
  signInMark: string
  isSignedIn: boolean
  /** Newest last: a page opened by another one is on top of it until it closes. */
  pages: Map<string, Page[]>
  /** All pages, most recently used last. */
  byUse: Page[]
  /** Pages being created, not yet assigned to a session. */
  creating: number
  stopIdling(): void
}

const idleMs = 10 * 60_000
const maxPages = 12

/** The folder of a user's browser data, with a safe name for any user id. */
export function profileDirectoryOf(directory: string, userId: string): string {
  return join(directory, sha256(userId).slice(0, 16))
}

export function createBrowsers(needs: BrowserNeeds) {
  const { clock } = needs
  const opened = new Map<string, Promise<OpenBrowser>>()
  const held = new Map<Page, number>()
  const closing = new WeakSet<Page>()

  async function open(userId: string): Promise<OpenBrowser> {
    const executable = await findChromium({ ...needs.settings(), searchPath: needs.searchPath })
    if (executable === undefined) throw new FamiliarError('not_found', noChromium)
    await ensurePrivateDirectory(needs.directory)
    const profileDirectory = profileDirectoryOf(needs.directory, userId)
    await ensurePrivateDirectory(profileDirectory)
    const proxy = await needs.openProxy()
    try {
      const context = await launchChromium(needs, { executable, profileDirectory, proxy })
      const signInMark = join(profileDirectory, 'signed-in')
      const isSignedIn = await readBytes(signInMark).then(
        () => true,
        () => false,
      )
      const state = { pages: new Map(), byUse: [], creating: 0, stopIdling: () => {} }
      const browser: OpenBrowser = { context, proxy, signInMark, isSignedIn, ...state }
      context.on('close', () => {
        opened.delete(userId)
        browser.stopIdling()
        void proxy.close()
      })
      // Its session is known only after this event.
      context.on('page', () => queueMicrotask(() => closeOldest(browser)))
      return browser
    } catch (error) {
      await proxy.close()
      throw new FamiliarError('not_found', `Chromium did not start: ${reasonOf(error).split('\n')[0]}`, {
        cause: error,
      })
    }
  }

  /** Every use restarts the idle timer. */
  async function use(userId: string): Promise<OpenBrowser> {
    const known = opened.get(userId) ?? open(userId)
    opened.set(userId, known)
    const browser = await known.catch((error) => {
      opened.delete(userId)
      throw error
    })
    browser.stopIdling()
    browser.stopIdling = clock.after(idleMs, () => void browser.context.close())
    return browser
  }

  /** Above the limit: first those without a session, then the least recently used of `sessionId`, then others. */
  function closeOldest(browser: OpenBrowser, sessionId?: string): void {
    const open = browser.context.pages().filter((page) => !page.isClosed() && !closing.has(page))
    const isFree = (page: Page) => open.includes(page) && !held.has(page)
    const own = sessionId === undefined ? [] : (browser.pages.get(sessionId) ?? [])
    const candidates = [
      ...(browser.creating > 0 ? [] : open.filter((page) => !browser.byUse.includes(page))),
      ...browser.byUse.filter((page) => own.includes(page) && page !== own.at(-1)),
      ...browser.byUse.filter((page) => !own.includes(page)),
    ]
    for (const page of candidates.filter(isFree).slice(0, Math.max(0, open.length - maxPages))) {
      closing.add(page)
      void page.close().catch(() => undefined)
    }
  }

  function noteUse(browser: OpenBrowser, page: Page): void {
    browser.byUse = [...browser.byUse.filter((other) => other !== page), page]
  }

  function follow(browser: OpenBrowser, sessionId: string, page: Page): void {
    browser.pages.set(sessionId, [...(browser.pages.get(sessionId) ?? []), page])
    noteUse(browser, page)
    closeOldest(browser, sessionId)
    page.on('popup', (popup) => follow(browser, sessionId, popup))
    page.on('close', () => {
      browser.byUse = browser.byUse.filter((other) => other !== page)
      const left = browser.pages.get(sessionId)?.filter((other) => other !== page) ?? []
      if (left.length > 0) browser.pages.set(sessionId, left)
      else browser.pages.delete(sessionId)
    })
    // A crashed page no longer answers.
    page.on('crash', () => void page.close())
  }

  function currentPage(browser: OpenBrowser, sessionId: string): Page | undefined {
    const page = browser.pages.get(sessionId)?.findLast((page) => !page.isClosed() && !closing.has(page))
    if (page) noteUse(browser, page)
    return page
  }

  return {
    /** The session's current page; a blank one if there is none. Throws a FamiliarError without Chromium. */
    async page(userId: string, sessionId: string): Promise<Page> {
      const browser = await use(userId)
      const current = currentPage(browser, sessionId)
      if (current) return current
      browser.creating += 1
      try {
        const page = await browser.context.newPage()
        follow(browser, sessionId, page)
        return page
      } finally {
        browser.creating -= 1
      }
    },
    async openPage(userId: string, sessionId: string): Promise<Page | undefined> {
      if (!opened.has(userId)) return undefined
      return currentPage(await use(userId), sessionId)
    },
    hold(page: Page): () => void {
      held.set(page, (held.get(page) ?? 0) + 1)
      return () => {
        const left = (held.get(page) ?? 0) - 1
        if (left > 0) held.set(page, left)
        else held.delete(page)
      }
    },
    /** Why an address was blocked for the user's browser; undefined if it was not. */
    refusalOf: async (userId: string, url: URL) => (await opened.get(userId))?.proxy.refusalOf(url),
    /** From now on, also after a restart, this user's browser content counts as private. */
    async noteSignIn(userId: string): Promise<void> {
      const browser = await opened.get(userId)
      if (!browser || browser.isSignedIn) return
      browser.isSignedIn = true
      await writeFileAtomically(browser.signInMark, '')
    },
    isSignedIn: async (userId: string) => (await opened.get(userId))?.isSignedIn === true,
    async closePage(userId: string, sessionId: string): Promise<void> {
      const browser = await opened.get(userId)
      const pages = browser?.pages.get(sessionId) ?? []
      await Promise.all(pages.map((page) => page.close()))
      if (browser?.pages.size === 0) await browser.context.close()
    },
    async close(): Promise<void> {
      const browsers = await Promise.allSettled(opened.values())
      await Promise.all(browsers.map((each) => (each.status === 'fulfilled' ? each.value.context.close() : undefined)))
    },
  }
}

const usualPlaces = [
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'microsoft-edge',
]

interface ChromiumPlaces {
  executable: string | null
  searchPath: string
}

/** The user's own browser. None is ever downloaded. */
export function findChromium({ executable, searchPath }: ChromiumPlaces): Promise<string | undefined> {
  return findProgram(executable === null ? usualPlaces : [executable], searchPath)
}

const noChromium =
  'Chromium is not installed. To install it: sudo apt-get install chromium (on Debian; Chrome and Edge also work). Or set ' +
  'its path in familiar.toml: executable under [tools.browser].'

/** For `familiar doctor`: a problem or weakness, or null if there is none. */
export async function inspectBrowser(places: ChromiumPlaces, isRoot: boolean) {
  const executable = (await findChromium(places)) ?? null
  if (executable === null) return { executable, problem: noChromium }
  const unsafe =
    'Familiar runs as root, so Chromium has no sandbox: a page that breaks out of it is root too. Run Familiar as a separate user.'
  return { executable, problem: isRoot ? unsafe : null }
}

/**
 * Closes every network access except the proxy. The proxy decides by the resolved address (SEC-8); a browser with its
 * own name lookups, UDP or loopback access would bypass it.
 */
const closedWays = [
  '--proxy-bypass-list=<-loopback>',
  // STUN server names are resolved without the proxy, and a name can leak data. The next but one also prevents it.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--disable-quic',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  // Its earlier name.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // Headless Chromium appears to deny them by itself; this makes it explicit.
  '--deny-permission-prompts',
  '--no-pings',
  // At startup Chromium asks Google who is signed in. This address is blocked.
  '--gaia-url=https://0.0.0.0',
  // Some minutes later it registers for push messages.
  '--gcm-checkin-url=https://0.0.0.0',
  '--gcm-registration-url=https://0.0.0.0',
  '--gcm-mcs-endpoint=https://0.0.0.0',
]

async function launchChromium(
  { isRoot, searchPath }: BrowserNeeds,
  { executable, profileDirectory, proxy }: { executable: string; profileDirectory: string; proxy: LoopbackProxy },
): Promise<BrowserContext> {
  const { chromium } = await import('playwright-core')
  // A profile of its own, without the cookies of the user's browser.
  return await chromium.launchPersistentContext(profileDirectory, {
    executablePath: executable,
    headless: true,
    // As root Chromium does not start with its sandbox.
    chromiumSandbox: !isRoot,
    proxy: { server: proxy.server, username: proxy.username, password: proxy.password },
    args: closedWays,
    // Not our environment, which contains keys.
    env: { PATH: searchPath, HOME: profileDirectory, LANG: 'C.UTF-8' },
    acceptDownloads: false,
    serviceWorkers: 'block',
    viewport: { width: 1280, height: 800 },
    // This program closes the browser when it stops; the library must not handle signals.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  })
}
