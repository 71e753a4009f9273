import { z } from 'zod'
import { defineTool, failed } from '../../define-tool.ts'
import type { Tool, ToolReach } from '../../tool.ts'
import type { PutMedia } from '../put-media.ts'
import { type BrowserNeeds, type Browsers, createBrowsers } from './browsers.ts'
import { clickElement, goBack, openAddress, readPage, takeScreenshot, typeText } from './page-actions.ts'
import { originOf } from './page-origin.ts'

const actionNames = ['open', 'read', 'click', 'type', 'screenshot', 'back', 'close'] as const

const inputSchema = z.object({
  action: z.enum(actionNames),
  url: z.string().max(4_000).optional().describe('open: where to; click, type: the page’s own address'),
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

export interface BrowserTool {
  tool: Tool
  /** Ends every browser with all its processes. */
  close(): Promise<void>
}

/**
 * The user's Chromium, without a window and in a profile of its own. Nothing is started or loaded before it is first
 * used. Pages reach public addresses alone, through the proxy that `openProxy` makes.
 */
export function createBrowserTool(needs: BrowserNeeds & { putMedia: PutMedia }): BrowserTool {
  const browsers = createBrowsers(needs)
  const tool = defineTool({
    name: 'browser',
    description:
      'Use a web page that web_fetch cannot read: open it, read what it shows and can do, click, type, take a screenshot.',
    input: inputSchema,
    effect: 'at-most-once',
    serial: true,
    reach: reachOf,
    async run(input, context) {
      const { action, url, ref, text, submit = false, offset } = input
      const { userId, sessionId, signal } = context
      const scene = { browsers, userId, sessionId, signal }
      if (action === 'open') {
        if (originOf(url) === undefined) return failed('url: must be an http or https address.')
        return await openAddress({ ...scene, page: await browsers.page(userId, sessionId) }, url ?? '')
      }
      const page = await browsers.openPage(userId, sessionId)
      if (!page) return failed('No page is open. Use open first.')
      const open = { ...scene, page }
      switch (action) {
        case 'read':
          return await readPage(open, offset)
        case 'screenshot':
          return await takeScreenshot(open, needs.putMedia)
        case 'back':
          return await goBack(open)
        case 'close':
          return await closePage(browsers, userId, sessionId)
        case 'click':
        case 'type': {
          const origin = originOf(url)
          if (ref === undefined || origin === undefined) {
            return failed(`${action} needs ref and url: the element as read shows it, and the address of its page.`)
          }
          if (action === 'click') return await clickElement(open, { ref, origin })
          if (text === undefined) return failed('text: must be given.')
          return await typeText(open, { ref, origin }, { text, submit })
        }
      }
    },
  })
  return { tool, close: browsers.close }
}

/** What is clicked or typed goes to the page that `url` names: it is done on no other (page-actions.ts). */
function reachOf({ action, url }: BrowserInput): ToolReach {
  switch (action) {
    case 'read':
    case 'screenshot':
    case 'close':
      return { kind: 'reads', destination: null }
    case 'back':
      // Where it leads, only the page knows.
      return { kind: 'acts', destination: null }
    case 'open':
    case 'click':
    case 'type':
      return { kind: 'acts', destination: originOf(url) ?? null }
  }
}

async function closePage(browsers: Browsers, userId: string, sessionId: string) {
  await browsers.closePage(userId, sessionId)
  return { text: 'Closed.', isError: false }
}
