import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { SearchProvider } from './search-provider.ts'

const answerSchema = z.object({
  // Absent where nothing was found.
  web: z
    .object({
      results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string().default('') })),
    })
    .optional(),
})
const mostResults = 20
const badKey = 'Brave refused the key. Check the variable that api_key_env names under [tools.web_search].'

export const brave: SearchProvider = {
  name: 'Brave',
  usualBaseUrl: 'https://api.search.brave.com',
  request({ baseUrl, apiKey, query, limit }) {
    const parameters = new URLSearchParams({
      q: query,
      count: String(Math.min(limit, mostResults)),
      text_decorations: 'false',
    })
    return {
      url: `${baseUrl}/res/v1/web/search?${parameters}`,
      init: { headers: { accept: 'application/json', 'x-subscription-token': apiKey ?? '' } },
    }
  },
  read(body) {
    const answer = parseJson(body, answerSchema)
    if (!answer.ok) return answer
    const results = answer.value.web?.results ?? []
    return { ok: true, value: results.map(({ title, url, description }) => ({ title, url, snippet: description })) }
  },
  // A key that is unknown is answered with 422, not 401.
  explains: { 401: badKey, 403: badKey, 422: 'Brave refused the key or the query.' },
}
