import { rm } from 'node:fs/promises'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { StartOptions } from '../../../src/daemon/daemon.ts'
import { type FakeModel, type Script, startFakeModel } from '../../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../../support/running-familiar.ts'
import { ensurePageIsBuilt } from './built-page.ts'
import { openBrowser } from './chromium.ts'
import { fakeProvider } from './page-daemon.ts'
import { watchContext } from './watch-page.ts'

export interface OpenPageOptions {
  /**
   * `fake`: the model server of the tests, scripted. `offline`: the model without a network that Familiar comes with.
   * `none`: the same, as in a new home, where another one can be connected.
   */
  model?: 'fake' | 'offline' | 'none'
  script?: Script
  /** More of `familiar.toml`. With its own `[memory]`, Familiar learns from the messages. */
  toml?: string
  daemon?: Partial<StartOptions>
  /** A second model of the fake provider. */
  otherModel?: string
  /** The first path of the page. */
  path?: string
  context?: BrowserContextOptions
}

export interface OpenedPage {
  page: Page
  context: BrowserContext
  familiar: RunningFamiliar
  /** Of a page over the offline model it answers nothing. */
  fake: FakeModel
  url: string
  /** A new link of one use. */
  signInLink(): Promise<string>
  /** Another browser: nothing of the first is in it, and it is watched as well. */
  newContext(options?: BrowserContextOptions & { origins?: string[] }): Promise<BrowserContext>
  /** Ends everything. Rejects with what must never happen, where something of it did. */
  close(): Promise<void>
}

/** A script answers only its own calls: learning in the background is off unless the test enables it. */
const quietMemory = '[memory]\nconversations = false\nextraction = false\n'

const opened = new Set<OpenedPage>()

/** For `afterEach`. */
export async function closePages(): Promise<void> {
  const all = [...opened]
  opened.clear()
  const ended = await Promise.allSettled(all.map((page) => page.close()))
  for (const end of ended) if (end.status === 'rejected') throw end.reason
}

/** A real daemon in an empty home, with the built page in Chromium, signed in by its link. */
export async function openPage(options: OpenPageOptions = {}): Promise<OpenedPage> {
  const { model = 'fake', script, toml = '', path = '/', daemon } = options
  await ensurePageIsBuilt()
  const browser = await openBrowser()
  const fake = await startFakeModel(script ? { script } : {})
  const familiar = await startFamiliar({
    ...(model === 'fake' && { providers: { fake: fakeProvider(fake.url, options.otherModel) } }),
    ...daemon,
    toml: `${model === 'fake' ? '[routes]\nprimary = "fake/main"\n' : ''}${toml.includes('[memory]') ? '' : quietMemory}${toml}`,
    env: { ...(model === 'offline' && { FAMILIAR_MODEL: 'offline/offline' }), ...daemon?.env },
  })
  const { url } = familiar.daemon
  const watched: { context: BrowserContext; problems: string[] }[] = []

  async function newContext(more: BrowserContextOptions & { origins?: string[] } = {}): Promise<BrowserContext> {
    const { origins = [], ...rest } = more
    const context = await browser.newContext({
      viewport: { width: 1180, height: 760 },
      // Requests of a service worker do not pass the routes of a test: the tests about it switch it on.
      serviceWorkers: 'block',
      ...rest,
    })
    context.setDefaultTimeout(Number(process.env.PAGE_TIMEOUT_MS ?? 20_000))
    watched.push({ context, problems: await watchContext(context, new Set([url, ...origins])) })
    return context
  }

  async function signInLink(): Promise<string> {
    const link = await familiar.daemon.signInLink()
    if (link === null) throw new Error('The page was not built.')
    return link
  }

  const context = await newContext(options.context)
  const page = await context.newPage()
  await signIn(page, await signInLink(), path)

  const bench: OpenedPage = {
    page,
    context,
    familiar,
    fake,
    url,
    signInLink,
    newContext,
    async close() {
      opened.delete(bench)
      // A page that hangs while it closes would keep the daemon alive.
      for (const { context: one } of watched) await one.close()
      await familiar.close({ keep: true })
      await fake.close()
      // A request of the page that is not awaited may still write there.
      await rm(familiar.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
      const problems = watched.flatMap((one) => one.problems)
      if (problems.length > 0) throw new Error(`the page did what it must not:\n${problems.join('\n')}`)
    },
  }
  opened.add(bench)
  return bench
}

/** Opens the link, and then the place. */
export async function signIn(page: Page, link: string, path = '/'): Promise<void> {
  await page.goto(link)
  await page.getByRole('navigation', { name: 'Familiar' }).or(page.getByLabel('Open menu')).first().waitFor()
  if (path !== '/') await page.goto(new URL(path, link).href)
}

/** Types a message and sends it. */
export async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('combobox', { name: 'Message' }).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}
