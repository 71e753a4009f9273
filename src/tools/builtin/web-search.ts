import { z } from 'zod'
import { type Parsed, parseJson } from '../../base/json.ts'
import { stayAtOrigin } from '../../security/network/guarded-fetch.ts'
import { foreignLine } from '../documents/foreign-text.ts'
import { defineTool, failed, type Tool, type ToolOutcome } from '../tool.ts'
import { allowedHostOf, type Fetches, fetchFailure } from './fetches.ts'

interface SearchHit {
  title: string
  url: string
  snippet: string
}

/** How one service is called and what its responses mean. Sends nothing itself. */
interface SearchProvider {
  name: string
  usualBaseUrl: string | null
  /** `baseUrl` has no trailing slash. */
  request(query: { baseUrl: string; apiKey: string | null; query: string; limit: number }): {
    url: string
    init: RequestInit
  }
  /** The body of a response with status 200. Titles and snippets are unchanged. */
  read(body: string): Parsed<SearchHit[]>
  /** Meanings of a status that are specific to this service. */
  explains: Readonly<Record<number, string>>
}

const braveHit = z.object({ title: z.string(), url: z.string(), description: z.string().default('') })
const braveAnswer = z
  // Missing if nothing was found.
  .object({ web: z.object({ results: z.array(braveHit) }).optional() })
  .transform(({ web }) => web?.results.map(({ description, ...hit }) => ({ ...hit, snippet: description })) ?? [])

function answerWith(content: z.ZodType<string | null | undefined>) {
  const hit = z.object({ title: z.string(), url: z.string(), content })
  return z
    .object({ results: z.array(hit) })
    .transform(({ results }) => results.map(({ title, url, content }) => ({ title, url, snippet: content ?? '' })))
}
const searxngAnswer = answerWith(z.string().nullish())
const tavilyAnswer = answerWith(z.string().default(''))

const maxResults = 20
const badKey = 'Brave rejected the key. Check the variable that api_key_env names under [tools.web_search].'

export const brave: SearchProvider = {
  name: 'Brave',
  usualBaseUrl: 'https://api.search.brave.com',
  request({ baseUrl, apiKey, query, limit }) {
    const parameters = new URLSearchParams({
      q: query,
      count: String(Math.min(limit, maxResults)),
      text_decorations: 'false',
    })
    return {
      url: `${baseUrl}/res/v1/web/search?${parameters}`,
      init: { headers: { accept: 'application/json', 'x-subscription-token': apiKey ?? '' } },
    }
  },
  read: (body) => parseJson(body, braveAnswer),
  // An unknown key is answered with 422, not 401.
  explains: { 401: badKey, 403: badKey, 422: 'Brave rejected the key or the query.' },
}

/** A server of the owner's, or of someone they trust. It has no result limit: the rest is dropped here. */
export const searxng: SearchProvider = {
  name: 'SearXNG',
  usualBaseUrl: null,
  request({ baseUrl, query }) {
    const parameters = new URLSearchParams({ q: query, format: 'json' })
    return { url: `${baseUrl}/search?${parameters}`, init: { headers: { accept: 'application/json' } } }
  },
  read: (body) => parseJson(body, searxngAnswer),
  explains: { 403: 'The SearXNG server does not return JSON: add "json" to search.formats in its settings.yml.' },
}

const usedUp = 'The Tavily plan is used up.'

export const tavily: SearchProvider = {
  name: 'Tavily',
  usualBaseUrl: 'https://api.tavily.com',
  request({ baseUrl, apiKey, query, limit }) {
    return {
      url: `${baseUrl}/search`,
      init: {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey ?? ''}` },
        body: JSON.stringify({ query, max_results: limit }),
      },
    }
  },
  read: (body) => parseJson(body, tavilyAnswer),
  explains: {
    401: 'Tavily rejected the key. Check the variable that api_key_env names under [tools.web_search].',
    432: usedUp,
    433: usedUp,
  },
}

export interface WebSearchSettings {
  provider: 'brave' | 'tavily' | 'searxng'
  apiKey: string | null
  baseUrl: string | null
}

const providers: Record<WebSearchSettings['provider'], SearchProvider> = { brave, tavily, searxng }
const maxHits = 20
const titleCharacters = 150
const snippetCharacters = 400

const notConfigured =
  'Web search is not set up. The user can set it up in familiar.toml: under [tools.web_search], provider = "brave" or ' +
  '"tavily" with api_key_env = the name of the variable that holds the key, or provider = "searxng" with base_url = the ' +
  'address of a SearXNG server. web_fetch reads an address without it.'

/** Offered even if no service is configured: then it says what to set, which the user would otherwise not learn. */
export function createWebSearch(needs: { settings: () => WebSearchSettings | null; fetches: Fetches }): Tool {
  const { settings, fetches } = needs
  return defineTool({
    name: 'web_search',
    description: 'Search the web.',
    input: z.object({ query: z.string().trim().min(1).max(400), limit: z.int().min(1).max(maxHits).default(5) }),
    effect: 'idempotent',
    reach() {
      const destination = webSearchDestination(settings())
      return { kind: destination === null ? 'read' : 'reach', destination }
    },
    async run({ query, limit }, { signal, progress }) {
      const chosen = settings()
      const baseUrl = chosen && baseUrlOf(chosen)
      if (!chosen || !baseUrl) return failed(notConfigured)
      const provider = providers[chosen.provider]
      const { url, init } = provider.request({ baseUrl, apiKey: chosen.apiKey, query, limit })
      const { host } = new URL(url)
      try {
        const response = await fetches.reaching([allowedHostOf(new URL(url))])(url, {
          ...init,
          signal,
          onRedirect: stayAtOrigin,
        })
        if (!response.ok) {
          await response.body?.cancel()
          return refused(provider, response)
        }
        const hits = provider.read(await response.text())
        if (!hits.ok) return outside(`${provider.name} returned an unreadable response (${hits.message}).`)
        progress({ found: hits.value.length })
        return { text: listHits(hits.value.slice(0, limit)), isError: false, label: 'untrusted' }
      } catch (error) {
        return fetchFailure(error, host, signal)
      }
    },
  })
}

/** The destination of searches. The owner configured it, so it counts as declared; null if there is none. */
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
  if (status === 429) {
    const seconds = /^\d{1,6}$/.exec(headers.get('retry-after') ?? '')?.[0]
    return outside(`${name} rate limit reached.${seconds === undefined ? '' : ` Wait ${seconds} s.`} (429)`)
  }
  if (status >= 500) return outside(`${name} is unavailable (${status}). Try again later.`)
  return outside(`${name} rejected the search (${status}).`)
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

/** Services mark matching words with tags, and escape the original text. */
function withoutMarkup(text: string): string {
  return text
    .replaceAll(/<\/?[a-z][^<>]{0,100}>/gi, '')
    .replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hexadecimal, name) => {
      if (name !== undefined) return entities[String(name).toLowerCase()] ?? whole
      const point = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal)
      return point <= 0x10ffff ? String.fromCodePoint(point) : whole
    })
}
