import { tokenizerName } from '../../base/tokens.ts'
import { createGuardedFetch } from '../../egress/guarded-fetch.ts'
import { baseUrlOf } from '../../models/create-model.ts'
import type { LanguageModel } from '../../models/model.ts'
import type { ProviderSettings } from '../../models/model-settings.ts'
import { type Models, purposes } from '../../models/models.ts'
import { providerHosts } from '../../models/models-from-config.ts'
import type { Config } from '../config/config.ts'
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts'

/** Which model answers what. */
export function checkRoutes({ routes }: Config, models: Pick<Models, 'route'>): Finding[] {
  const byPurpose = purposes.map((purpose) => [purpose, models.route(purpose)] as const)
  const bySource = Object.keys(routes.sources).map(
    (source) => [`source ${source}`, models.route('primary', source)] as const,
  )
  return [...byPurpose, ...bySource].map(([name, route]) => describeRoute(name, route))
}

export function checkTokenizer(): Finding {
  return ok('tokenizer', `${tokenizerName}; what the provider counts replaces it`)
}

/** Asks each provider for its list of models, which costs nothing. */
export async function checkProviders(config: Config): Promise<Finding[]> {
  const fetch = createGuardedFetch({ allowedHosts: providerHosts(config.providers), timeoutMs: 10_000 })
  try {
    if (config.providers.length === 0) return [ok('providers', 'None is configured, so none was asked.')]
    return await Promise.all(config.providers.map((provider) => checkProvider(provider, fetch)))
  } finally {
    await fetch.close()
  }
}

async function checkProvider(provider: ProviderSettings, fetch: typeof globalThis.fetch): Promise<Finding> {
  const { name, type, baseUrl } = provider
  const check = `provider ${name}`
  if (type === 'offline') return ok(check, 'needs no network')
  const base = baseUrlOf({ type, providerName: name, baseUrl })
  try {
    const response = await fetch(`${base.replace(/\/$/, '')}${type === 'ollama' ? '/api/tags' : '/models'}`, {
      headers: headersOf(provider),
    })
    await response.body?.cancel()
    if (response.status === 401 || response.status === 403) {
      return fail(check, `${base} refuses the key (${response.status}).`, 'familiar setup')
    }
    if (response.status >= 500) return warn(check, `${base} answers, but with ${response.status}.`)
    return ok(check, `${base} answers`)
  } catch (error) {
    return fail(check, `${base} cannot be reached: ${reasonOf(error)}`, `curl -sS -o /dev/null ${base}`)
  }
}

function headersOf({ type, apiKey }: ProviderSettings): Record<string, string> {
  if (!apiKey) return {}
  if (type === 'anthropic') return { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }
  return type === 'google' ? { 'x-goog-api-key': apiKey } : { authorization: `Bearer ${apiKey}` }
}

function describeRoute(name: string, route: readonly LanguageModel[]): Finding {
  const check = `route ${name}`
  const ids = route.map((model) => model.info.id)
  const message = ids.length > 1 ? `${ids[0]}, then ${ids.slice(1).join(', ')}` : (ids[0] ?? 'none')
  if (name === 'primary' && ids[0]?.startsWith('offline')) {
    return warn(check, `${message}: no language model is set up; remembering and recalling work.`, 'familiar setup')
  }
  return ok(check, message)
}
