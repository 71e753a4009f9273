import type { AiSdkWire } from '../ai-sdk-wire.ts'
import { fetchWithKeyLast } from '../last-key.ts'
import { toEffort } from './effort.ts'
import type { ProviderConnection } from './provider-connection.ts'

/**
 * OpenAI's Responses API, the only one of its APIs that gives reasoning back (encrypted) and takes it again. Nothing is
 * stored at the provider: every request carries its whole conversation, so a session needs no server that remembers it.
 * Servers that speak only chat completions are `openai-compatible`.
 */
export function openaiWire({ baseUrl, apiKey, settings, fetch }: ProviderConnection): AiSdkWire {
  const { thinkingTokens } = settings
  return {
    optionsKey: 'openai',
    async load() {
      const { createOpenAI } = await import('@ai-sdk/openai')
      const provider = createOpenAI({ baseURL: baseUrl, apiKey: apiKey ?? '', fetch: fetchWithKeyLast(fetch, 'input') })
      return provider.responses(settings.model)
    },
    callOptions: () => ({
      store: false,
      ...(thinkingTokens === 0 && { reasoningEffort: 'none' }),
      ...(thinkingTokens && {
        forceReasoning: true,
        reasoningEffort: toEffort(thinkingTokens),
        reasoningSummary: 'auto',
      }),
      ...(settings.oneCallAtATime && { parallelToolCalls: false }),
    }),
    cacheBoundary: undefined,
    strictForm: 'complete',
    readsPdf: true,
    // An item without its encrypted content is one that only the provider's own store could resolve.
    canReplay: ({ replay }) => typeof replay?.metadata.reasoningEncryptedContent === 'string',
  }
}
