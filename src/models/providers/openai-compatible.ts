import type { AiSdkWire } from '../ai-sdk-wire.ts'
import { withKeyLast } from '../last-key.ts'
import { toEffort } from './effort.ts'
import type { ProviderConnection } from './provider-connection.ts'

/** Any server that speaks OpenAI's chat completions: OpenRouter, Groq, vLLM, LM Studio, llama.cpp, … */
export function openaiCompatibleWire({ baseUrl, apiKey, settings, fetch }: ProviderConnection): AiSdkWire {
  return {
    // Not `openaiCompatible`: what lies under that name is copied into the message as it is.
    optionsKey: 'compatible',
    async load() {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const provider = createOpenAICompatible({
        name: 'compatible',
        baseURL: baseUrl,
        ...(apiKey && { apiKey }),
        fetch,
        includeUsage: true,
        transformRequestBody: (body) => withKeyLast(body, 'messages'),
      })
      return provider.chatModel(settings.model)
    },
    callOptions: () => ({
      ...(settings.thinkingTokens && { reasoningEffort: toEffort(settings.thinkingTokens) }),
      ...(settings.oneCallAtATime && { parallel_tool_calls: false }),
    }),
    cacheBoundary: undefined,
    strictForm: 'complete',
    readsPdf: false,
    canReplay: () => true,
  }
}
