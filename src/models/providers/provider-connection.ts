import type { GuardedFetch } from '../../egress/guarded-fetch.ts'
import type { ModelSettings } from '../model-settings.ts'

/** The guarded fetch, with its lighter way for streams where it has one. Every request goes through it. */
export type ProviderFetch = typeof globalThis.fetch & Pick<GuardedFetch, 'open'>

/** How a provider is reached, and which of its models. */
export interface ProviderConnection {
  baseUrl: string
  apiKey: string | undefined
  settings: ModelSettings
  fetch: ProviderFetch
}
