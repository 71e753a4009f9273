import type { Json } from '../../protocol/json.ts'
import type { AiSdkWire } from '../ai-sdk-wire.ts'
import { fetchWithKeyLast } from '../last-key.ts'
import type { ModelSettings } from '../model-settings.ts'
import { toEffort } from './effort.ts'
import type { ProviderConnection } from './provider-connection.ts'

/** Google's Gemini API. */
export function googleWire({ baseUrl, apiKey, settings, fetch }: ProviderConnection): AiSdkWire {
  return {
    optionsKey: 'google',
    async load() {
      const { createGoogle } = await import('@ai-sdk/google')
      const provider = createGoogle({
        baseURL: baseUrl,
        apiKey: apiKey ?? '',
        fetch: fetchWithKeyLast(fetch, 'contents'),
      })
      return provider.chat(settings.model)
    },
    callOptions: () => thinkingOptions(settings),
    cacheBoundary: undefined,
    strictForm: 'closed',
    readsPdf: true,
    canReplay: () => true,
  }
}

/** Up to 2.5 a Gemini takes a budget; later ones take a level and cannot be told not to think. */
function thinkingOptions({ model, thinkingTokens }: ModelSettings): { [key: string]: Json } {
  if (thinkingTokens === undefined) return {}
  const includeThoughts = thinkingTokens > 0
  if (/gemini-[12]\b/.test(model)) return { thinkingConfig: { thinkingBudget: thinkingTokens, includeThoughts } }
  return { thinkingConfig: { thinkingLevel: toEffort(thinkingTokens), includeThoughts } }
}
