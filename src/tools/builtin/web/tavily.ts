import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { SearchProvider } from './search-provider.ts'

const answerSchema = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string(), content: z.string().default('') })),
})
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
  read(body) {
    const answer = parseJson(body, answerSchema)
    if (!answer.ok) return answer
    return {
      ok: true,
      value: answer.value.results.map(({ title, url, content }) => ({ title, url, snippet: content })),
    }
  },
  explains: {
    401: 'Tavily refused the key. Check the variable that api_key_env names under [tools.web_search].',
    432: usedUp,
    433: usedUp,
  },
}
