import type { Ids } from '../base/ids.ts'
import type { AllowedHost } from '../egress/destination.ts'
import { createGuardedFetch, type GuardedFetch } from '../egress/guarded-fetch.ts'
import { discoverProviders, localServers } from '../models/discover.ts'
import type { ProviderSettings } from '../models/model-settings.ts'
import type { Models } from '../models/models.ts'
import { createModels, providerHosts } from '../models/models-from-config.ts'
import { createOfflineModel } from '../models/offline/offline-model.ts'
import type { Config } from './config/config.ts'

/** The models in use. They change when the config is read again; callers keep this object. */
export interface ModelSet extends Models {
  /**
   * Takes the providers that the config names; where it names none, those whose key is in the environment and the model
   * servers that answer on this machine, which takes a third of a second at most.
   */
  use(config: Config, environment: Record<string, string | undefined>): Promise<void>
  /** Those in use, found ones too. Their keys are resolved. */
  providers(): readonly ProviderSettings[]
  close(): Promise<void>
}

export function createModelSet(dependencies: { ids: Ids; addSecret(secret: string): void }): ModelSet {
  const offline = createOfflineModel({ ids: dependencies.ids })
  const opened = new Set<GuardedFetch>()
  let inUse: readonly ProviderSettings[] = []
  let current: Models = createModels({ providers: [], offline, fetch: openFetch([]) })

  function openFetch(allowedHosts: readonly AllowedHost[]): GuardedFetch {
    const guarded = createGuardedFetch({ streaming: true, allowedHosts })
    opened.add(guarded)
    return guarded
  }

  function build(providers: readonly ProviderSettings[], config: Config): void {
    for (const { apiKey } of providers) if (apiKey) dependencies.addSecret(apiKey)
    const hosts = [...providerHosts(providers), ...config.egress.allowedHosts]
    current = createModels({ providers, routes: config.routes, offline, fetch: openFetch(hosts) })
    inUse = providers
  }

  async function discover(environment: Record<string, string | undefined>): Promise<ProviderSettings[]> {
    const probe = createGuardedFetch({ allowedHosts: localServers })
    try {
      return await discoverProviders({ env: environment, fetch: probe })
    } finally {
      await probe.close()
    }
  }

  return {
    route: (purpose, source) => current.route(purpose, source),
    byId: (id) => current.byId(id),
    list: () => current.list(),
    providers: () => inUse,
    async use(config, environment) {
      build(config.providers.length > 0 ? config.providers : await discover(environment), config)
    },
    async close() {
      await Promise.all([...opened].map((guarded) => guarded.close()))
    },
  }
}
