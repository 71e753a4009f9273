import type { ModelSettings } from '../model-settings.ts'

/** How a provider is reached, and which of its models. */
export interface ProviderConnection {
  baseUrl: string
  apiKey: string | undefined
  settings: ModelSettings
  fetch: typeof globalThis.fetch
}
