import { createAiSdkModel } from './ai-sdk-model.ts'
import type { LanguageModel, ModelInfo } from './model.ts'
import type { ProviderType } from './model-settings.ts'
import { createOllamaModel } from './ollama/ollama-model.ts'
import { createOpenaiChatModel } from './openai-chat/openai-chat-model.ts'
import { anthropicWire } from './providers/anthropic.ts'
import { googleWire } from './providers/google.ts'
import { openaiWire } from './providers/openai.ts'
import type { ProviderConnection } from './providers/provider-connection.ts'

const wires = {
  anthropic: anthropicWire,
  openai: openaiWire,
  google: googleWire,
}

/** The adapter that speaks a provider's protocol. */
export function openModel(options: {
  type: Exclude<ProviderType, 'offline'>
  providerName: string
  info: ModelInfo
  connection: ProviderConnection
  now: () => number
}): LanguageModel {
  const { type, providerName, info, connection, now } = options
  if (type === 'ollama') return createOllamaModel({ ...connection, info, providerName, now })
  if (type === 'openai-compatible') return createOpenaiChatModel({ ...connection, info, providerName, now })
  const { apiKey, settings } = connection
  return createAiSdkModel({ info, providerName, settings, wire: wires[type](connection), apiKey, now })
}
