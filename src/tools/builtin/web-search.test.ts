import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { type Answer, type LocalSite, openLocalSite } from '../../../test/support/local-site.ts'
import { toolContext } from '../../../test/support/tool-context.ts'
import { createGuardedFetch } from '../../security/network/guarded-fetch.ts'
import type { ToolOutcome } from '../tool.ts'
import { createFetches } from './fetches.ts'
import { brave, createWebSearch, searxng, tavily, type WebSearchSettings } from './web-search.ts'

type Provider = WebSearchSettings['provider']

let site: LocalSite | undefined
const fetches = createFetches((allowedHosts) => createGuardedFetch({ allowedHosts }))
afterEach(async () => {
  await site?.close()
  site = undefined
})

async function search(provider: Provider, answer: Answer, input = { query: 'tea & cake', limit: 2 }) {
  site = await openLocalSite(answer)
  const settings = { provider, apiKey: 'the-key', baseUrl: `${site.origin}/` }
  const tool = createWebSearch({ settings: () => settings, fetches })
  return await tool.run(input, toolContext())
}

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const hostile = 'Evil\u001b[31m red\u202e txt\u{e0041}\nnew line'

/** The services' responses for the same three pages. */
const answers: Record<Provider, unknown> = {
  brave: {
    type: 'search',
    query: { original: 'tea & cake', more_results_available: true },
    web: {
      type: 'search',
      results: [
        {
          type: 'search_result',
          title: 'Tea &amp; cake',
          url: 'https://example.com/tea',
          description: 'All about <strong>tea</strong> &#x27;n&#39; cake',
          language: 'en',
          family_friendly: true,
        },
        { type: 'search_result', title: hostile, url: 'javascript:alert(1)', description: '' },
        { type: 'search_result', title: hostile, url: 'https://example.org/', description: 'b' },
      ],
    },
  },
  tavily: {
    query: 'tea & cake',
    answer: null,
    images: [],
    results: [
      { title: 'Tea & cake', url: 'https://example.com/tea', content: "All about tea 'n' cake", score: 0.9 },
      { title: hostile, url: 'javascript:alert(1)', content: '', score: 0.5 },
      { title: hostile, url: 'https://example.org/', content: 'b', score: 0.4 },
    ],
    response_time: 1.2,
    request_id: '1',
  },
  searxng: {
    query: 'tea & cake',
    number_of_results: 0,
    results: [
      { title: 'Tea & cake', url: 'https://example.com/tea', content: "All about tea 'n' cake", engine: 'a', score: 4 },
      { title: hostile, url: 'javascript:alert(1)', content: null, engine: 'b' },
      { title: hostile, url: 'https://example.org/', content: 'b', engine: 'b' },
    ],
    answers: [],
    suggestions: [],
    unresponsive_engines: [['c', 'timeout']],
  },
}

describe.each(['brave', 'tavily', 'searxng'] as const)('web_search by %s', (provider) => {
  it('SEC-6 lists results as numbered lines, labeled untrusted', async () => {
    const outcome = await search(provider, (_request, response) => json(response, answers[provider]), {
      query: 'tea & cake',
      limit: 3,
    })
    expect(outcome).toEqual({
      text: [
        '1. Tea & cake',
        '   https://example.com/tea',
        "   All about tea 'n' cake",
        '2. Evil red txt new line',
        '   https://example.org/',
        '   b',
      ].join('\n'),
      isError: false,
      label: 'untrusted',
    })
  })

  it.each([401, 403, 422, 429, 432, 500, 503])('explains a %d', async (status) => {
    const outcome = await search(provider, (_request, response) => {
      response.setHeader('retry-after', '7')
      json(response, { detail: { error: 'FOREIGN WORDS' } }, status)
    })
    expect(outcome).toMatchObject({ isError: true, serviceFailed: true })
    expect(outcome.text).toContain(String(status))
    expect(outcome.text).not.toContain('FOREIGN')
  })

  it('reports an unexpected response', async () => {
    const outcome = await search(provider, (_request, response) => response.end('<html>'))
    expect(outcome).toMatchObject({ isError: true, serviceFailed: true })
  })

  it('reports an unreachable service', async () => {
    const outcome = await search(provider, (_request, response) => response.destroy())
    expect(outcome).toMatchObject({ isError: true, serviceFailed: true })
    expect(outcome.text).toContain('could not be reached')
  })
})

describe('web_search', () => {
  it('calls each service by its API', async () => {
    const asked = async (provider: Provider) => {
      await search(provider, (_request, response) => json(response, answers[provider]))
      const { method, url, headers, body } = site?.requests[0] ?? { method: '', url: '', headers: {}, body: '' }
      const key = headers['x-subscription-token'] ?? headers.authorization
      return { method, url, body, key }
    }
    expect(await asked('brave')).toEqual({
      method: 'GET',
      url: '/res/v1/web/search?q=tea+%26+cake&count=2&text_decorations=false',
      body: '',
      key: 'the-key',
    })
    expect(await asked('tavily')).toEqual({
      method: 'POST',
      url: '/search',
      body: '{"query":"tea & cake","max_results":2}',
      key: 'Bearer the-key',
    })
    expect(await asked('searxng')).toEqual({
      method: 'GET',
      url: '/search?q=tea+%26+cake&format=json',
      body: '',
      key: undefined,
    })
  })

  it('says what to configure if nothing is', async () => {
    const tool = createWebSearch({ settings: () => null, fetches })
    const outcome: ToolOutcome = await tool.run({ query: 'tea' }, toolContext())
    expect(outcome).toMatchObject({ isError: true })
    expect(outcome.text).toContain('[tools.web_search]')
    expect(tool.reach({ query: 'tea' })).toEqual({ kind: 'read', destination: null })
  })

  it('SEC-6 reports the destination to policy', () => {
    const reachOf = (settings: WebSearchSettings) =>
      createWebSearch({ settings: () => settings, fetches }).reach({ query: 'a' })
    expect(reachOf({ provider: 'brave', apiKey: 'a', baseUrl: null })).toEqual({
      kind: 'reach',
      destination: 'https://api.search.brave.com',
    })
    expect(reachOf({ provider: 'searxng', apiKey: null, baseUrl: 'http://nas.lan:8888/searx/' })).toEqual({
      kind: 'reach',
      destination: 'http://nas.lan:8888',
    })
  })

  it.each([brave, tavily, searxng])('no response of $name breaks its reader', ({ read }) => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (body) => void read(body)))
    fc.assert(
      fc.property(
        fc.record({ web: fc.jsonValue(), results: fc.jsonValue() }),
        (body) => void read(JSON.stringify(body)),
      ),
    )
  })
})
