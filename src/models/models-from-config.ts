import type { AllowedHost } from '../egress/destination.ts'
import { FamiliarError } from '../protocol/error.ts'
import { baseUrlOf, createModel } from './create-model.ts'
import type { LanguageModel } from './model.ts'
import type { ProviderSettings } from './model-settings.ts'
import { type Models, type Purpose, purposes } from './models.ts'
import type { ProviderFetch } from './providers/provider-connection.ts'

/** `provider/name`, or several: the first is used, the rest are its fallbacks. */
type RouteTarget = string | readonly string[]

/** The `[routes]` table: by purpose, and by where a message came from. */
export type Routes = { [purpose in Purpose]?: RouteTarget | undefined } & {
  sources?: Record<string, RouteTarget> | undefined
}

/**
 * Every configured model and who serves what. A route to a model that is not there is an error that names its key. A
 * purpose without a route takes the primary one; without that, the first model configured; with no model, the offline one.
 */
export function createModels(options: {
  providers: readonly ProviderSettings[]
  routes?: Routes
  offline: LanguageModel
  fetch: ProviderFetch
  /** Looks up the variable that a provider's `api_key_env` names. */
  env?: (name: string) => string | undefined
  now?: () => number
}): Models {
  const { providers, routes = {}, offline, fetch, env, now } = options
  const models = new Map<string, LanguageModel>()
  for (const { name: providerName, type, baseUrl, models: settings, ...provider } of providers) {
    const apiKey = provider.apiKey ?? (provider.apiKeyEnv && env?.(provider.apiKeyEnv))
    for (const [name, model] of Object.entries(settings)) {
      const id = `${providerName}/${name}`
      if (type === 'offline') models.set(id, renamed(offline, id))
      else
        models.set(
          id,
          createModel({ type, providerName, name, baseUrl, apiKey, settings: model, fetch, ...(now && { now }) }),
        )
    }
  }

  function resolve(key: string, target: RouteTarget): readonly LanguageModel[] {
    const ids = typeof target === 'string' ? [target] : target
    const found = ids.map((id) => {
      const model = id === offline.info.id ? offline : models.get(id)
      if (model) return model
      throw new FamiliarError('bad_request', `routes.${key}: there is no model "${id}" (${listOf(models)})`)
    })
    if (found.length > 0) return found
    throw new FamiliarError('bad_request', `routes.${key}: names no model`)
  }

  const first = models.values().next().value ?? offline
  const primary = routes.primary === undefined ? [first] : resolve('primary', routes.primary)
  const byPurpose = new Map<Purpose, readonly LanguageModel[]>()
  for (const purpose of purposes) {
    const target = routes[purpose]
    byPurpose.set(purpose, target === undefined ? primary : resolve(purpose, target))
  }
  const bySource = new Map(
    Object.entries(routes.sources ?? {}).map(([source, target]) => [source, resolve(`sources.${source}`, target)]),
  )

  return {
    // A source changes who talks, not who summarises or builds.
    route: (purpose, source) =>
      (purpose === 'primary' && source !== undefined && bySource.get(source)) || (byPurpose.get(purpose) ?? primary),
    byId: (id) => (id === offline.info.id ? offline : models.get(id)),
    list: () => (models.size > 0 ? [...models.values()] : [offline]),
  }
}

/**
 * The hosts that the owner named as a provider's address, for the guarded fetch: naming one there is listing it. A
 * provider's own public address needs no listing and stays checked.
 */
export function providerHosts(providers: readonly ProviderSettings[]): AllowedHost[] {
  return providers.flatMap(({ type, name, baseUrl }) => {
    if (type === 'offline' || (baseUrl === undefined && type !== 'ollama')) return []
    const { hostname, port, protocol } = new URL(baseUrlOf({ type, providerName: name, baseUrl }))
    return [{ host: hostname, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }]
  })
}

function renamed(model: LanguageModel, id: string): LanguageModel {
  return { info: { ...model.info, id }, stream: (request, signal) => model.stream(request, signal) }
}

function listOf(models: ReadonlyMap<string, LanguageModel>): string {
  return models.size > 0 ? `configured: ${[...models.keys()].join(', ')}` : 'none is configured'
}
