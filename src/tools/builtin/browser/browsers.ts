import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import type { Clock } from '../../../base/clock.ts'
import { sha256 } from '../../../base/hash.ts'
import { readBytes } from '../../../base/read-bytes.ts'
import { ensurePrivateDirectory, writeFileAtomically } from '../../../base/safe-file.ts'
import type { LoopbackProxy } from '../../../egress/loopback-proxy.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import { findChromium, noChromium } from './find-chromium.ts'
import { launchChromium } from './launch-chromium.ts'

export interface BrowserNeeds {
  settings: () => { executable: string | null }
  /** Where programs are looked for. */
  searchPath: string
  /** Holds a profile for each user. */
  directory: string
  /** Opens the way out for a browser, by the rules of every other one. */
  openProxy: () => Promise<LoopbackProxy>
  isRoot: boolean
  clock: Clock
}

/** One browser for each user, with a page for each session. Closed after minutes without use. */
export interface Browsers {
  /** The page that the session looks at; a blank one where there is none yet. Throws a FamiliarError without Chromium. */
  page(userId: string, sessionId: string): Promise<Page>
  /** Undefined where the session has no page open. */
  openPage(userId: string, sessionId: string): Promise<Page | undefined>
  /** Why an address was refused to the user's browser; undefined where it was not. */
  refusalOf(userId: string, url: URL): Promise<string | undefined>
  /** From now on, also after a restart, what this user's browser shows counts as the user's own. */
  noteSignIn(userId: string): Promise<void>
  isSignedIn(userId: string): Promise<boolean>
  closePage(userId: string, sessionId: string): Promise<void>
  close(): Promise<void>
}

interface OpenBrowser {
  context: BrowserContext
  proxy: LoopbackProxy
  /** Lies in the profile, whose cookies it speaks of. */
  signInMark: string
  isSignedIn: boolean
  /** The newest last: a page that another one opened stands over it until it closes. */
  pages: Map<string, Page[]>
  stopIdling(): void
}

const idleMs = 10 * 60_000
const mostPages = 12

/** What a user's browser keeps lies there, under a name that is safe whatever the id holds. */
export function profileDirectoryOf(directory: string, userId: string): string {
  return join(directory, sha256(userId).slice(0, 16))
}

export function createBrowsers(needs: BrowserNeeds): Browsers {
  const { clock } = needs
  const opened = new Map<string, Promise<OpenBrowser>>()

  async function open(userId: string): Promise<OpenBrowser> {
    const executable = await findChromium({ ...needs.settings(), searchPath: needs.searchPath })
    if (executable === undefined) throw new FamiliarError('not_found', noChromium)
    await ensurePrivateDirectory(needs.directory)
    const profileDirectory = profileDirectoryOf(needs.directory, userId)
    await ensurePrivateDirectory(profileDirectory)
    const proxy = await needs.openProxy()
    try {
      const context = await launchChromium({ ...needs, executable, profileDirectory, proxy })
      const signInMark = join(profileDirectory, 'signed-in')
      const isSignedIn = await readBytes(signInMark).then(
        () => true,
        () => false,
      )
      const browser: OpenBrowser = { context, proxy, signInMark, isSignedIn, pages: new Map(), stopIdling: () => {} }
      context.on('close', () => {
        opened.delete(userId)
        browser.stopIdling()
        void proxy.close()
      })
      context.on('page', (page) => {
        if (context.pages().length > mostPages) void page.close()
      })
      return browser
    } catch (error) {
      await proxy.close()
      const reason = error instanceof Error ? error.message.split('\n')[0] : String(error)
      throw new FamiliarError('not_found', `Chromium did not start: ${reason}`, { cause: error })
    }
  }

  /** Every use puts the end off. */
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

  function follow(browser: OpenBrowser, sessionId: string, page: Page): void {
    browser.pages.set(sessionId, [...(browser.pages.get(sessionId) ?? []), page])
    page.on('popup', (popup) => follow(browser, sessionId, popup))
    page.on('close', () => {
      const left = browser.pages.get(sessionId)?.filter((other) => other !== page) ?? []
      if (left.length > 0) browser.pages.set(sessionId, left)
      else browser.pages.delete(sessionId)
    })
    // What has crashed answers nothing any more.
    page.on('crash', () => void page.close())
  }

  return {
    async page(userId, sessionId) {
      const browser = await use(userId)
      const current = browser.pages.get(sessionId)?.at(-1)
      if (current) return current
      const page = await browser.context.newPage()
      follow(browser, sessionId, page)
      return page
    },
    async openPage(userId, sessionId) {
      if (!opened.has(userId)) return undefined
      return (await use(userId)).pages.get(sessionId)?.at(-1)
    },
    refusalOf: async (userId, url) => (await opened.get(userId))?.proxy.refusalOf(url),
    async noteSignIn(userId) {
      const browser = await opened.get(userId)
      if (!browser || browser.isSignedIn) return
      browser.isSignedIn = true
      await writeFileAtomically(browser.signInMark, '')
    },
    isSignedIn: async (userId) => (await opened.get(userId))?.isSignedIn === true,
    async closePage(userId, sessionId) {
      const browser = await opened.get(userId)
      const pages = browser?.pages.get(sessionId) ?? []
      await Promise.all(pages.map((page) => page.close()))
      if (browser?.pages.size === 0) await browser.context.close()
    },
    async close() {
      const browsers = await Promise.allSettled(opened.values())
      await Promise.all(browsers.map((each) => (each.status === 'fulfilled' ? each.value.context.close() : undefined)))
    },
  }
}
