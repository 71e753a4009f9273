import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { SearchProvider } from './search-provider.ts'

const answerSchema = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string(), content: z.string().nullish() })),
})

/** A server of the owner's own, or of somebody they trust. It has no limit of results: the rest is left out here. */
export const searxng: SearchProvider = {
  name: 'SearXNG',
  usualBaseUrl: null,
  request({ baseUrl, query }) {
    const parameters = new URLSearchParams({ q: query, format: 'json' })
    return { url: `${baseUrl}/search?${parameters}`, init: { headers: { accept: 'application/json' } } }
  },
  read(body) {
    const answer = parseJson(body, answerSchema)
    if (!answer.ok) return answer
    return {
      ok: true,
      value: answer.value.results.map(({ title, url, content }) => ({ title, url, snippet: content ?? '' })),
    }
  },
  explains: { 403: 'The SearXNG server does not give JSON: add "json" to search.formats in its settings.yml.' },
}
