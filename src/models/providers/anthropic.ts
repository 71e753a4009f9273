import type { Json } from '../../protocol/json.ts'
import type { AiSdkWire } from '../ai-sdk-wire.ts'
import { withKeyLast } from '../last-key.ts'
import type { ModelSettings } from '../model-settings.ts'
import { toEffort } from './effort.ts'
import type { ProviderConnection } from './provider-connection.ts'

/** Anthropic's Messages API. */
export function anthropicWire({ baseUrl, apiKey, settings, fetch }: ProviderConnection): AiSdkWire {
  return {
    optionsKey: 'anthropic',
    async load() {
      // The class behind the public factory: only it lets the body be put in order before it becomes text.
      const { AnthropicLanguageModel } = await import('@ai-sdk/anthropic/internal')
      return new AnthropicLanguageModel(settings.model, {
        provider: 'anthropic.messages',
        baseURL: withVersion(baseUrl),
        headers: { 'anthropic-version': '2023-06-01', 'x-api-key': apiKey ?? '' },
        fetch,
        // Tools, system, messages: the order in which the provider caches them.
        transformRequestBody: (body) => withKeyLast(withKeyLast(withKeyLast(body, 'tools'), 'system'), 'messages'),
      })
    },
    callOptions: ({ thinkingInterrupted }) => ({
      // Pings are the only sign of life while a model thinks without showing it.
      includePings: true,
      // A field that only Anthropic's own servers know.
      toolStreaming: false,
      ...thinkingOptions(settings, thinkingInterrupted),
      ...(settings.oneCallAtATime && { disableParallelToolUse: true }),
    }),
    cacheBoundary: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    strictForm: 'closed',
    readsPdf: true,
    canReplay: ({ replay }) => 'signature' in (replay?.metadata ?? {}) || 'redactedData' in (replay?.metadata ?? {}),
  }
}

/** Thinking of these is bound to everything before it; by default a changed prefix refuses the whole request. */
const boundThinking = /claude-(?:fable-5-[12]|opus-5-5|sonnet-5-5)/
/** From 4.6 on a Claude decides itself how long to think, and effort takes the place of a budget. */
const adaptiveThinking = /claude-(?:[a-z]+)-(?:4-[6-9]|[5-9])(?:\D|$)/

function thinkingOptions({ model, thinkingTokens }: ModelSettings, interrupted: boolean): { [key: string]: Json } {
  const binding = boundThinking.test(model) && { blockBinding: { prefixMismatchBehavior: 'drop_block' } }
  if (thinkingTokens === undefined) return binding ? { thinking: binding } : {}
  if (thinkingTokens === 0) return { thinking: { type: 'disabled' } }
  if (adaptiveThinking.test(model)) {
    return { thinking: { type: 'adaptive', display: 'summarized', ...binding }, effort: toEffort(thinkingTokens) }
  }
  // With a budget, a turn that began without thinking must end without it.
  return interrupted ? {} : { thinking: { type: 'enabled', budgetTokens: Math.max(1024, thinkingTokens) } }
}

/** Both `https://host` and `https://host/v1` are in use for this API. */
function withVersion(baseUrl: string): string {
  const trimmed = baseUrl.replace(/\/+$/, '')
  return new URL(trimmed).pathname === '/' ? `${trimmed}/v1` : trimmed
}
