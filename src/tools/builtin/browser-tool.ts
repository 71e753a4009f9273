import type { ElementHandle, Frame, Page } from 'playwright-core'
import { z } from 'zod'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Reach } from '../../security/permissions.ts'
import { cleanForeignText, foreignLine, pageOf } from '../documents/foreign-text.ts'
import { defineTool, failed, succeeded, type ToolOutcome } from '../tool.ts'
import { type BrowserNeeds, type Browsers, createBrowsers } from './browsers.ts'
import type { PutMedia } from './message.ts'

const nodeSchema = z.object({
  role: z.string(),
  name: z.string().optional(),
  text: z.string().optional(),
  ref: z.string().optional(),
  url: z.string().optional(),
  level: z.number().optional(),
  cursor: z.string().optional(),
  checked: z.union([z.boolean(), z.string()]).optional(),
  selected: z.boolean().optional(),
  disabled: z.boolean().optional(),
  expanded: z.boolean().optional(),
  children: z.array(z.unknown()).optional(),
})
type Node = z.infer<typeof nodeSchema>

/** Elements that can be clicked or typed into, and therefore get a reference. */
const controls = new Set(
  (
    'link button textbox searchbox combobox listbox checkbox radio switch slider spinbutton option tab treeitem ' +
    'menuitem menuitemcheckbox menuitemradio'
  ).split(' '),
)
const inWords = new Set(
  'strong emphasis code superscript subscript mark time text cell gridcell columnheader rowheader'.split(' '),
)
const deepest = 300
const maxNameLength = 120

/**
 * The content of a page, line by line: its text, and its controls as `[e5] button "Search"`. `tree` is Playwright's
 * accessibility tree; nodes of another shape are dropped. Fields that contain one of `passwords` show no value.
 */
export function listPage(tree: unknown, address: string, passwords: readonly string[] = []): string {
  const lines: string[] = []
  let line: string[] = []

  function endLine(prefix = ''): void {
    const words = line.join(' ').replaceAll(/\s+/g, ' ').trim()
    if (words !== '') lines.push(`${prefix}${words}`)
    line = []
  }

  function walk(value: unknown, depth: number): void {
    if (typeof value === 'string') {
      line.push(value)
      return
    }
    const parsed = nodeSchema.safeParse(value)
    if (!parsed.success || depth > deepest) return
    const node = parsed.data
    const text = node.text && passwords.includes(node.text) ? '•••' : node.text
    if (isControl(node)) line.push(describeControl({ ...node, text }, address))
    else if (node.role === 'img') line.push(node.name ? `[image: ${foreignLine(node.name, maxNameLength)}]` : '')
    else if (inWords.has(node.role)) walkInside(node, depth)
    else walkBlock(node, depth)
  }

  function walkBlock(node: Node, depth: number): void {
    endLine()
    if (node.role === 'heading' && !node.children) line.push(node.name ?? '')
    else walkInside(node, depth)
    endLine(prefixOf(node))
  }

  function walkInside(node: Node, depth: number): void {
    const children = node.children ?? []
    // A cell or paragraph without parts has its text as `text` or `name`.
    if (children.length === 0) line.push(node.text ?? node.name ?? '')
    for (const child of children) {
      walk(child, depth + 1)
      if (node.role === 'row') line.push('|')
    }
  }

  for (const node of Array.isArray(tree) ? tree : [tree]) walk(node, 0)
  endLine()
  return cleanForeignText(lines.join('\n'))
}

function isControl(node: Node): boolean {
  if (node.ref === undefined) return false
  // An element made clickable by a script shows it only by its cursor.
  return controls.has(node.role) || (node.cursor === 'pointer' && !node.children)
}

function describeControl(node: Node, address: string): string {
  const name = foreignLine(node.name ?? (node.role === 'textbox' ? '' : (node.text ?? '')), maxNameLength)
  const states = [
    node.role === 'generic' ? 'clickable' : node.role,
    name === '' ? '' : JSON.stringify(name),
    node.checked === true ? '(checked)' : '',
    node.selected ? '(selected)' : '',
    node.disabled ? '(disabled)' : '',
    node.expanded === undefined ? '' : node.expanded ? '(open)' : '(closed)',
    node.role.endsWith('box') && node.text ? `= ${JSON.stringify(foreignLine(node.text, maxNameLength))}` : '',
    node.role === 'combobox' || node.role === 'listbox' ? describeOptions(node) : '',
    node.url === undefined ? '' : describeTarget(node.url, address),
  ]
  return `[${node.ref}] ${states.filter((state) => state !== '').join(' ')}`
}

const maxOptions = 20

function describeOptions({ children = [] }: Node): string {
  const options = children.flatMap((child) => {
    const option = nodeSchema.safeParse(child)
    if (!option.success || option.data.role !== 'option') return []
    const name = foreignLine(option.data.name ?? '', 40)
    return [option.data.selected ? `*${name}*` : name]
  })
  if (options.length === 0) return ''
  const rest = options.length > maxOptions ? `, … ${options.length - maxOptions} more` : ''
  return `{${options.slice(0, maxOptions).join(', ')}${rest}}`
}

/** A link to another site shows its host; one within the site only its path. */
function describeTarget(target: string, address: string): string {
  const url = URL.parse(target, address)
  if (!url || !/^https?:$/.test(url.protocol)) return ''
  const isHere = url.origin === URL.parse(address)?.origin
  return `→ ${foreignLine(isHere ? `${url.pathname}${url.search}` : url.href, maxNameLength)}`
}

function prefixOf({ role, level = 1 }: Node): string {
  if (role === 'heading') return `${'#'.repeat(Math.min(6, Math.max(1, level)))} `
  return role === 'listitem' ? '- ' : role === 'row' ? '| ' : ''
}

function pageOriginOf(address: string | undefined): string | undefined {
  const url = URL.parse(address ?? '')
  return url && /^https?:$/.test(url.protocol) ? url.origin : undefined
}

/** The origin of an element, as the browser reports it. A frame without an address belongs to its parent. */
async function originOfElement(element: ElementHandle): Promise<string | undefined> {
  for (let frame: Frame | null = await element.ownerFrame(); frame; frame = frame.parentFrame()) {
    if (!/^about:(blank|srcdoc)$/.test(frame.url())) return pageOriginOf(frame.url())
  }
  return undefined
}

interface OpenScene {
  page: Page
  browsers: Browsers
  userId: string
  sessionId: string
  signal: AbortSignal
}

const openMs = 30_000
const actionMs = 10_000
/** A page may load endlessly; its content by then is read. */
const loadMs = 5_000
const leadMs = 500
const pageCharacters = 6_000

async function openAddress(scene: OpenScene, address: string): Promise<ToolOutcome> {
  const { page, signal } = scene
  try {
    await page.goto(address, { waitUntil: 'domcontentloaded', timeout: openMs, signal })
  } catch (error) {
    // The browser's own error is still pending, and would interfere with the next navigation.
    await page.close().catch(() => undefined)
    throw error
  }
  return await readPage(scene)
}

async function readPage(scene: OpenScene, offset = 0): Promise<ToolOutcome> {
  const { page, signal } = scene
  await page.waitForLoadState('load', { timeout: loadMs, signal }).catch(() => undefined)
  signal.throwIfAborted()
  // A page can navigate anywhere; only web pages are shown.
  if (pageOriginOf(page.url()) === undefined) return failed('The page does not show a web address.')
  const refusal = await refusalOf(scene, page.url())
  if (refusal !== undefined) return failed(`${refusal}.`)
  const tree: unknown = await page.ariaSnapshotJSON({ mode: 'ai', timeout: actionMs, signal })
  const head = `# ${foreignLine(await page.title(), 200)}\n${foreignLine(page.url(), 500)}`
  const listing = listPage(tree, page.url(), await passwordsOn(page))
  if (offset > 0 && offset >= listing.length) return failed(`The page has ${listing.length} characters.`)
  return await shown(scene, { text: `${head}\n\n${pageOf(listing, offset, pageCharacters)}`, isError: false })
}

async function goBack(scene: OpenScene): Promise<ToolOutcome> {
  const { page, signal } = scene
  const answer = await page.goBack({ waitUntil: 'domcontentloaded', timeout: openMs, signal })
  return answer ? await readPage(scene) : failed('There is no previous page.')
}

async function takeScreenshot(scene: OpenScene, putMedia: PutMedia): Promise<ToolOutcome> {
  const { page, signal } = scene
  const data = await page.screenshot({ type: 'jpeg', quality: 70, timeout: openMs, signal })
  const part = await putMedia({ name: 'screenshot.jpg', mediaType: 'image/jpeg', data })
  return await shown(scene, { text: 'The user has the screenshot.', isError: false, media: [part] })
}

/** Page content is untrusted; after a sign-in with this browser it may be private as well. */
async function shown({ browsers, userId }: OpenScene, outcome: ToolOutcome): Promise<ToolOutcome> {
  const isPrivate = await browsers.isSignedIn(userId)
  return { ...outcome, label: 'untrusted', ...(isPrivate && { isPrivate }) }
}

/** The values of password fields, which the accessibility tree does not hide. */
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

/** Clicks an element of that origin only, or types into it, and reads the page afterwards. */
async function actOn(
  scene: OpenScene,
  { ref, origin, text, submit }: { ref: string; origin: string; text?: string; submit: boolean },
): Promise<ToolOutcome> {
  const { page, signal, browsers, userId } = scene
  const limits = { timeout: actionMs, signal }
  const place = page.getByRef(ref)
  if ((await place.count()) === 0) return failed(`There is no ${ref} on the page. Read it again.`)
  // Bound to this document: if the page navigates in between, nothing is done there.
  const element = await place.elementHandle(limits)
  const actual = await originOfElement(element)
  if (actual !== origin) {
    return failed(`Nothing was done: ${ref} belongs to ${actual ?? 'no site'}, not to ${origin}. Read the page again.`)
  }
  const perform = async () => {
    if (text === undefined) return await element.click(limits)
    const { isSelect, isSignIn } = await describeField(element)
    // Before it happens: everything after a sign-in may be the user's private data.
    if (isSignIn) await browsers.noteSignIn(userId)
    if (isSelect) await element.selectOption({ label: text }, limits)
    else await element.fill(text, limits)
    if (submit) await element.press('Enter', limits)
  }
  const leads = page.waitForEvent('framenavigated', { timeout: leadMs }).catch(() => undefined)
  // The page may close itself, or open another page.
  await perform().catch((error) => (page.isClosed() ? undefined : Promise.reject(error)))
  await leads
  const current = await browsers.openPage(userId, scene.sessionId)
  return current ? await readPage({ ...scene, page: current }) : failed('The page has closed.')
}

async function refusalOf({ browsers, userId }: OpenScene, address: string): Promise<string | undefined> {
  const url = URL.parse(address)
  return url ? await browsers.refusalOf(userId, url) : undefined
}

/** Browser errors are described in words; blocked requests with the guard's reason. */
async function describeFailure(scene: OpenScene, address: string, error: unknown): Promise<ToolOutcome> {
  scene.signal.throwIfAborted()
  if (error instanceof FamiliarError || !(error instanceof Error)) throw error
  const { hostname = '' } = URL.parse(address) ?? {}
  const refusal = await refusalOf(scene, address)
  const network = /net::(ERR_\w+)/.exec(error.message)?.[1]
  if (network !== undefined && refusal !== undefined) return failed(`${refusal}.`)
  if (error.message.includes('Download is starting')) {
    return failed('This is a file download, which the browser does not accept. Try web_fetch.')
  }
  if (network !== undefined) return { ...failed(`${hostname} could not be reached (${network}).`), serviceFailed: true }
  if (error.name === 'TimeoutError') return { ...failed('The page did not respond in time.'), timedOut: true }
  return { ...failed(`The page failed: ${foreignLine(error.message, 200)}`), label: 'untrusted' }
}

const inputSchema = z.object({
  action: z.enum(['open', 'read', 'click', 'type', 'screenshot', 'back', 'close']),
  url: z.string().max(4_000).optional().describe('open: the address; click, type: the address of the current page'),
  ref: z
    .string()
    .regex(/^(f\d{1,4})?e\d{1,6}$/, 'must be a reference from read, such as e5')
    .optional()
    .describe('as read shows it'),
  text: z.string().max(10_000).optional().describe('to type, or the option to choose'),
  submit: z.boolean().optional().describe('then press Enter'),
  offset: z.int().min(0).default(0),
})
type BrowserInput = z.output<typeof inputSchema>

/** The user's Chromium, headless, with its own profile; public addresses only. Nothing starts before the first use. */
export function createBrowserTool(needs: BrowserNeeds & { putMedia: PutMedia }) {
  const browsers = createBrowsers(needs)
  const tool = defineTool({
    name: 'browser',
    description:
      'Use a web page that web_fetch cannot read: open it, read its text and elements, click, type, take a screenshot.',
    input: inputSchema,
    effect: 'at-most-once',
    serial: true,
    reach: reachOf,
    async run(input, { userId, sessionId, signal }) {
      const isOpening = input.action === 'open'
      if (isOpening && pageOriginOf(input.url) === undefined) return failed('url: must be an http or https address.')
      const page = isOpening ? await browsers.page(userId, sessionId) : await browsers.openPage(userId, sessionId)
      if (!page) return failed('No page is open. Use open first.')
      if (input.action === 'close') {
        await browsers.closePage(userId, sessionId)
        return succeeded('Closed.')
      }
      const address = isOpening ? (input.url ?? '') : page.url()
      const scene = { browsers, userId, sessionId, signal, page }
      // The page of a call stays open until the call ends, whatever else is opened meanwhile.
      const release = browsers.hold(page)
      try {
        return await act(scene, input)
      } catch (error) {
        return await describeFailure(scene, address, error)
      } finally {
        release()
      }
    },
  })

  async function act(open: OpenScene, { action, url, ref, text, submit = false, offset }: BrowserInput) {
    switch (action) {
      case 'read':
        return await readPage(open, offset)
      case 'screenshot':
        return await takeScreenshot(open, needs.putMedia)
      case 'back':
        return await goBack(open)
      case 'open':
        return await openAddress(open, url ?? '')
      default: {
        const origin = pageOriginOf(url)
        if (ref === undefined || origin === undefined) {
          return failed(`${action} needs ref and url: the element as read shows it, and the address of its page.`)
        }
        if (action === 'click') return await actOn(open, { ref, origin, submit })
        if (text === undefined) return failed('text: must be given.')
        return await actOn(open, { ref, origin, text, submit })
      }
    }
  }

  return { tool, close: browsers.close }
}

/** A click or typed text goes to the page of `url`, and to no other. */
function reachOf({ action, url }: BrowserInput): Reach {
  switch (action) {
    case 'read':
    case 'screenshot':
    case 'close':
      return { kind: 'read', destination: null }
    case 'back':
      // Only the page knows the destination.
      return { kind: 'reach', destination: null }
    case 'open':
    case 'click':
    case 'type':
      return { kind: 'reach', destination: pageOriginOf(url) ?? null }
  }
}
