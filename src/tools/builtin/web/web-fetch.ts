import { z } from 'zod'
import type { Clock } from '../../../base/clock.ts'
import { type AllowedHost, createListedHosts } from '../../../egress/destination.ts'
import { defineTool, failed } from '../../define-tool.ts'
import type { Tool, ToolOutcome } from '../../tool.ts'
import { fetchFailure } from '../fetch-failure.ts'
import type { Fetches } from '../fetches.ts'
import { pageOf } from '../foreign-text.ts'
import { documentKind } from './document-kind.ts'
import type { ReadPage } from './read-page.ts'
import { createRecentPages, type RecentPage } from './recent-pages.ts'

export interface WebFetchNeeds {
  fetches: Fetches
  /** Hosts of the owner's own network that may be read. */
  allowedHosts: () => readonly AllowedHost[]
  readPage: ReadPage
  clock: Clock
}

const pageCharacters = 8_000
const headers = {
  accept: 'text/html,application/xhtml+xml,text/markdown,text/plain,application/json,application/pdf;q=0.9,*/*;q=0.5',
  'user-agent': 'Mozilla/5.0 (compatible; Familiar)',
}

export function createWebFetch(needs: WebFetchNeeds): Tool {
  const { fetches, allowedHosts, clock } = needs
  const recent = createRecentPages(clock)
  return defineTool({
    name: 'web_fetch',
    description: 'Read a web page, PDF or text file as text. A long one comes in pages: pass the offset it names.',
    input: z.object({
      url: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }),
      offset: z.int().min(0).default(0),
    }),
    effect: 'idempotent',
    reach: ({ url }) => ({ kind: 'acts', destination: new URL(url).origin }),
    async run({ url, offset }, { sessionId, signal }) {
      // The next page is of the text whose first page was read, even where the site has changed since.
      const known = offset > 0 ? recent.find(sessionId, url) : undefined
      if (known !== undefined) return page(known, offset)
      try {
        const response = await fetches.reaching(allowedHosts())(url, { headers, signal })
        const read = await readResponse(needs, response, signal)
        if ('outcome' in read) return read.outcome
        // What lies on the owner's own network is the owner's.
        const isPrivate = createListedHosts(allowedHosts())(new URL(response.url))
        recent.keep(sessionId, url, { text: read.text, isPrivate })
        return page({ text: read.text, isPrivate }, offset)
      } catch (error) {
        return fetchFailure(error, new URL(url).host, signal)
      }
    },
  })
}

async function readResponse(
  { readPage }: WebFetchNeeds,
  response: Response,
  signal: AbortSignal,
): Promise<{ text: string } | { outcome: ToolOutcome }> {
  const { status, url: address } = response
  if (!response.ok) {
    await response.body?.cancel()
    const outcome = failed(`${address} answered ${status}.`)
    return { outcome: status >= 500 || status === 429 ? { ...outcome, serviceFailed: true } : outcome }
  }
  const contentType = response.headers.get('content-type') ?? ''
  const mediaType = (contentType.split(';')[0] ?? '').trim().toLowerCase()
  const bytes = new Uint8Array(await response.arrayBuffer())
  const kind = documentKind(mediaType, bytes)
  if (!kind) {
    const what = /^[\w.+-]+\/[\w.+-]+$/.test(mediaType) ? mediaType : 'no text'
    return { outcome: failed(`${address} is ${what} (${bytes.length} bytes). Pages, text, JSON and PDF can be read.`) }
  }
  const read = await readPage({ kind, contentType, address, bytes }, signal)
  if (!read.ok) {
    const outcome: ToolOutcome = { ...failed(`${address} could not be read: ${read.message}.`), label: 'untrusted' }
    return { outcome: read.timedOut ? { ...outcome, timedOut: true } : outcome }
  }
  const head = read.title === '' ? address : `# ${read.title}\n${address}`
  return { text: `${head}\n\n${read.text === '' ? '[There is no text in it.]' : read.text}` }
}

function page({ text, isPrivate }: RecentPage, offset: number): ToolOutcome {
  if (offset >= text.length) return failed(`It has ${text.length} characters; there is nothing at ${offset}.`)
  const outcome: ToolOutcome = { text: pageOf(text, offset, pageCharacters), isError: false, label: 'untrusted' }
  return isPrivate ? { ...outcome, isPrivate } : outcome
}
