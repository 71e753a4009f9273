import type { ElementHandle, Page } from 'playwright-core'
import { FamiliarError } from '../../../protocol/error.ts'
import { failed } from '../../define-tool.ts'
import type { ToolOutcome } from '../../tool.ts'
import { foreignLine, pageOf } from '../foreign-text.ts'
import type { PutMedia } from '../put-media.ts'
import type { Browsers } from './browsers.ts'
import { listPage } from './page-listing.ts'
import { originOf, originOfElement } from './page-origin.ts'

/** A page, whose it is, and what ends the wait for it. */
export interface OpenScene {
  page: Page
  browsers: Browsers
  userId: string
  sessionId: string
  signal: AbortSignal
}

/** An element, and the origin that the caller means to act on. */
export interface ElementTarget {
  ref: string
  origin: string
}

const openMs = 30_000
const actionMs = 10_000
/** A page may load for ever; what it shows by then is read. */
const loadMs = 5_000
/** How long a click may take to lead elsewhere. */
const leadMs = 500
const pageCharacters = 6_000

export async function openAddress(scene: OpenScene, address: string): Promise<ToolOutcome> {
  const { page, signal } = scene
  return await attempt(scene, address, async () => {
    try {
      await page.goto(address, { waitUntil: 'domcontentloaded', timeout: openMs, signal })
    } catch (error) {
      // The browser's own word for the failure is still on its way, and would overtake what is opened here next.
      await page.close().catch(() => undefined)
      throw error
    }
    return await readPage(scene, 0)
  })
}

export async function readPage(scene: OpenScene, offset: number): Promise<ToolOutcome> {
  const { page, signal } = scene
  return await attempt(scene, page.url(), async () => {
    await page.waitForLoadState('load', { timeout: loadMs, signal }).catch(() => undefined)
    signal.throwIfAborted()
    // A page can lead itself anywhere; what is not of the web is not shown.
    if (originOf(page.url()) === undefined) return failed('The page shows nothing of the web.')
    const refusal = await refusalOf(scene, page.url())
    if (refusal !== undefined) return failed(`${refusal}.`)
    const tree: unknown = await page.ariaSnapshotJSON({ mode: 'ai', timeout: actionMs, signal })
    const head = `# ${foreignLine(await page.title(), 200)}\n${foreignLine(page.url(), 500)}`
    const listing = listPage(tree, page.url(), await passwordsOn(page))
    if (offset > 0 && offset >= listing.length) return failed(`The page has ${listing.length} characters.`)
    return await shown(scene, { text: `${head}\n\n${pageOf(listing, offset, pageCharacters)}`, isError: false })
  })
}

export async function clickElement(scene: OpenScene, target: ElementTarget): Promise<ToolOutcome> {
  return await act(scene, target, (element) => element.click({ timeout: actionMs, signal: scene.signal }))
}

export async function typeText(
  scene: OpenScene,
  target: ElementTarget,
  { text, submit }: { text: string; submit: boolean },
): Promise<ToolOutcome> {
  const limits = { timeout: actionMs, signal: scene.signal }
  return await act(scene, target, async (element) => {
    const { isSelect, isSignIn } = await describeField(element)
    // Before it happens: what follows is the user's own from the first page on.
    if (isSignIn) await scene.browsers.noteSignIn(scene.userId)
    if (isSelect) await element.selectOption({ label: text }, limits)
    else await element.fill(text, limits)
    if (submit) await element.press('Enter', limits)
  })
}

export async function goBack(scene: OpenScene): Promise<ToolOutcome> {
  const { page, signal } = scene
  return await attempt(scene, page.url(), async () => {
    const answer = await page.goBack({ waitUntil: 'domcontentloaded', timeout: openMs, signal })
    return answer ? await readPage(scene, 0) : failed('There is no page before this one.')
  })
}

export async function takeScreenshot(scene: OpenScene, putMedia: PutMedia): Promise<ToolOutcome> {
  const { page, signal } = scene
  return await attempt(scene, page.url(), async () => {
    const data = await page.screenshot({ type: 'jpeg', quality: 70, timeout: openMs, signal })
    const part = await putMedia({ name: 'screenshot.jpg', mediaType: 'image/jpeg', data })
    return await shown(scene, { text: 'The user has the screenshot.', isError: false, media: [part] })
  })
}

/** What a page shows is anybody's words; once somebody has signed in with this browser, it may be the user's own as well. */
async function shown({ browsers, userId }: OpenScene, outcome: ToolOutcome): Promise<ToolOutcome> {
  const isPrivate = await browsers.isSignedIn(userId)
  return { ...outcome, label: 'untrusted', ...(isPrivate && { isPrivate }) }
}

/** What is typed into fields that hide it: the tree of the page does not. */
async function passwordsOn(page: Page): Promise<string[]> {
  const found = page.frames().map(async (frame) => {
    const fields = frame.locator('input[type=password]')
    return await fields.evaluateAll((each) => each.map(({ value }) => String(value))).catch(() => [])
  })
  return (await Promise.all(found)).flat()
}

const signInKinds = /password|email|username|one-time-code/

async function describeField(element: ElementHandle): Promise<{ isSelect: boolean; isSignIn: boolean }> {
  const [name, ...kinds] = await Promise.all([
    element.evaluate(({ localName }) => String(localName)),
    element.getAttribute('type'),
    element.getAttribute('autocomplete'),
  ])
  return { isSelect: name === 'select', isSignIn: signInKinds.test(kinds.join(' ').toLowerCase()) }
}

/** Does something to an element of that origin and of no other, and reads what the page shows then. */
async function act(
  scene: OpenScene,
  { ref, origin }: ElementTarget,
  perform: (element: ElementHandle) => Promise<void>,
): Promise<ToolOutcome> {
  const { page, signal } = scene
  return await attempt(scene, page.url(), async () => {
    const place = page.getByRef(ref)
    if ((await place.count()) === 0) return failed(`There is no ${ref} on the page. Read it again.`)
    // Bound to this document: where the page leads itself elsewhere in between, nothing is done there.
    const element = await place.elementHandle({ timeout: actionMs, signal })
    const actual = await originOfElement(element)
    if (actual !== origin) {
      return failed(
        `Nothing was done: ${ref} belongs to ${actual ?? 'no site'}, not to ${origin}. Read the page again.`,
      )
    }
    const leads = page.waitForEvent('framenavigated', { timeout: leadMs }).catch(() => undefined)
    // It may close itself at that, or open another page.
    await perform(element).catch((error) => (page.isClosed() ? undefined : Promise.reject(error)))
    await leads
    const current = await scene.browsers.openPage(scene.userId, scene.sessionId)
    return current ? await readPage({ ...scene, page: current }, 0) : failed('The page has closed.')
  })
}

/** What the browser could not do is told in words; what it was refused, in the guard's. */
async function attempt(scene: OpenScene, address: string, perform: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  try {
    return await perform()
  } catch (error) {
    scene.signal.throwIfAborted()
    if (error instanceof FamiliarError || !(error instanceof Error)) throw error
    return await describeFailure(scene, address, error)
  }
}

async function refusalOf({ browsers, userId }: OpenScene, address: string): Promise<string | undefined> {
  const url = URL.parse(address)
  return url ? await browsers.refusalOf(userId, url) : undefined
}

async function describeFailure(scene: OpenScene, address: string, error: Error): Promise<ToolOutcome> {
  const { hostname = '' } = URL.parse(address) ?? {}
  const refusal = await refusalOf(scene, address)
  const network = /net::(ERR_\w+)/.exec(error.message)?.[1]
  if (network !== undefined && refusal !== undefined) return failed(`${refusal}.`)
  if (error.message.includes('Download is starting')) {
    return failed('It is a file to download, which the browser does not take. web_fetch may read it.')
  }
  if (network !== undefined) return { ...failed(`${hostname} could not be reached (${network}).`), serviceFailed: true }
  if (error.name === 'TimeoutError') return { ...failed('The page did not get there in time.'), timedOut: true }
  return { ...failed(`The page did not do it: ${foreignLine(error.message, 200)}`), label: 'untrusted' }
}
