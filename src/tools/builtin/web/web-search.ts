import { z } from 'zod'
import { defineTool, failed } from '../../define-tool.ts'
import type { Tool, ToolOutcome } from '../../tool.ts'
import { fetchFailure } from '../fetch-failure.ts'
import { allowedHostOf, type Fetches } from '../fetches.ts'
import { foreignLine } from '../foreign-text.ts'
import { brave } from './brave.ts'
import type { SearchHit, SearchProvider } from './search-provider.ts'
import { searxng } from './searxng.ts'
import { tavily } from './tavily.ts'

export interface WebSearchSettings {
  provider: 'brave' | 'tavily' | 'searxng'
  apiKey: string | null
  baseUrl: string | null
}

const providers: Record<WebSearchSettings['provider'], SearchProvider> = { brave, tavily, searxng }
const mostHits = 20
const titleCharacters = 150
const snippetCharacters = 400

const notConfigured =
  'Web search is not set up. The user can set it up in familiar.toml: under [tools.web_search], provider = "brave" or ' +
  '"tavily" with api_key_env = the name of the variable that holds the key, or provider = "searxng" with base_url = the ' +
  'address of a SearXNG server. web_fetch reads an address without it.'

/** Offered also where no service is configured: then it says what to set, which the user would else never learn. */
export function createWebSearch(needs: { settings: () => WebSearchSettings | null; fetches: Fetches }): Tool {
  const { settings, fetches } = needs
  return defineTool({
    name: 'web_search',
    description: 'Search the web.',
    input: z.object({ query: z.string().trim().min(1).max(400), limit: z.int().min(1).max(mostHits).default(5) }),
    effect: 'idempotent',
    reach() {
      const destination = webSearchDestination(settings())
      return { kind: destination === null ? 'reads' : 'acts', destination }
    },
    async run({ query, limit }, { signal, progress }) {
      const chosen = settings()
      const baseUrl = chosen && baseUrlOf(chosen)
      if (!chosen || !baseUrl) return failed(notConfigured)
      const provider = providers[chosen.provider]
      const { url, init } = provider.request({ baseUrl, apiKey: chosen.apiKey, query, limit })
      const { host } = new URL(url)
      try {
        const response = await fetches.reaching([allowedHostOf(new URL(url))])(url, { ...init, signal })
        if (!response.ok) {
          await response.body?.cancel()
          return refused(provider, response)
        }
        const hits = provider.read(await response.text())
        if (!hits.ok) return outside(`${provider.name} gave an answer that cannot be read (${hits.message}).`)
        progress({ found: hits.value.length })
        return { text: listHits(hits.value.slice(0, limit)), isError: false, label: 'untrusted' }
      } catch (error) {
        return fetchFailure(error, host, signal)
      }
    },
  })
}

/** Where searches go. The owner has named it in the config, so it counts as declared; null where there is none. */
export function webSearchDestination(settings: WebSearchSettings | null): string | null {
  const baseUrl = settings && baseUrlOf(settings)
  return baseUrl ? new URL(baseUrl).origin : null
}

function baseUrlOf({ provider, baseUrl }: WebSearchSettings): string | null {
  return (baseUrl ?? providers[provider].usualBaseUrl)?.replace(/\/+$/, '') ?? null
}

function refused({ name, explains }: SearchProvider, { status, headers }: Response): ToolOutcome {
  const known = explains[status]
  if (known !== undefined) return outside(`${known} (${status})`)
  if (status === 429) return outside(`${name} takes no more searches for now.${waitOf(headers)} (429)`)
  if (status >= 500) return outside(`${name} is out of order (${status}). Try again later.`)
  return outside(`${name} refused the search (${status}).`)
}

function waitOf(headers: Headers): string {
  const seconds = /^\d{1,6}$/.exec(headers.get('retry-after') ?? '')?.[0]
  return seconds === undefined ? '' : ` Wait ${seconds} s.`
}

function outside(message: string): ToolOutcome {
  return { ...failed(message), serviceFailed: true }
}

function listHits(hits: readonly SearchHit[]): string {
  const shown = hits.filter(({ url }) => /^https?:\/\//i.test(url) && URL.canParse(url))
  if (shown.length === 0) return 'Nothing was found.'
  return shown
    .map(({ title, url, snippet }, index) => {
      const lines = [
        `${index + 1}. ${foreignLine(withoutMarkup(title), titleCharacters)}`,
        new URL(url).href,
        foreignLine(withoutMarkup(snippet), snippetCharacters),
      ]
      return lines.filter((line) => line !== '').join('\n   ')
    })
    .join('\n')
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** Services mark the words that were found with tags, and escape what was there before. */
function withoutMarkup(text: string): string {
  return text
    .replaceAll(/<\/?[a-z][^<>]{0,100}>/gi, '')
    .replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hexadecimal, name) => {
      if (name !== undefined) return entities[String(name).toLowerCase()] ?? whole
      const point = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal)
      return point <= 0x10ffff ? String.fromCodePoint(point) : whole
    })
}
