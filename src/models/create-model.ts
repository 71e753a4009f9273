import { FamiliarError } from '../protocol/error.ts'
import type { LanguageModel, ModelRequest, ModelStreamEvent } from './model.ts'
import { type ModelSettings, modelInfo, type ProviderType } from './model-settings.ts'
import type { ProviderConnection, ProviderFetch } from './providers/provider-connection.ts'

const defaultBaseUrls: Partial<Record<ProviderType, string>> = {
  anthropic: 'https://api.anthropic.com/v1',
  openai: 'https://api.openai.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  ollama: 'http://127.0.0.1:11434',
}

export interface CreateModelOptions {
  type: Exclude<ProviderType, 'offline'>
  providerName: string
  /** The model's own name in the configuration, the second half of its id. */
  name: string
  baseUrl?: string | undefined
  apiKey?: string | undefined
  settings: ModelSettings
  fetch: ProviderFetch
  now?: () => number
}

/** A model of a provider. Nothing is loaded and nothing is sent before its first use: the daemon starts without it. */
export function createModel(options: CreateModelOptions): LanguageModel {
  const { type, providerName, name, apiKey, settings, fetch, now = Date.now } = options
  const info = modelInfo(`${providerName}/${name}`, settings)
  const connection: ProviderConnection = { baseUrl: baseUrlOf(options), apiKey, settings, fetch }
  let opened: LanguageModel | undefined

  async function* openThenStream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamEvent> {
    const { openModel } = await import('./open-model.ts')
    opened ??= openModel({ type, providerName, info, connection, now })
    yield* opened.stream(request, signal)
  }

  return {
    info,
    stream: (request, signal) => (opened ? opened.stream(request, signal) : openThenStream(request, signal)),
  }
}

/** Where a provider is reached: what its file says, else its own public address. */
export function baseUrlOf({
  type,
  providerName,
  baseUrl,
}: Pick<CreateModelOptions, 'type' | 'providerName' | 'baseUrl'>): string {
  const url = baseUrl ?? defaultBaseUrls[type]
  if (url !== undefined && URL.canParse(url)) return url.replace(/\/+$/, '')
  const problem = url === undefined ? `type "${type}" needs one` : `"${url}" is not a URL`
  throw new FamiliarError('bad_request', `providers.d/${providerName}.toml: base_url: ${problem}`)
}
