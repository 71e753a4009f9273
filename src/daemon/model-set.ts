import type { Ids } from '../base/ids.ts'
import type { AllowedHost } from '../egress/destination.ts'
import { createGuardedFetch, type GuardedFetch } from '../egress/guarded-fetch.ts'
import { discoverProviders, localServers } from '../models/discover.ts'
import type { ProviderSettings } from '../models/model-settings.ts'
import type { Models } from '../models/models.ts'
import { createModels, providerHosts } from '../models/models-from-config.ts'
import { createOfflineModel } from '../models/offline/offline-model.ts'
import type { Config } from './config/config.ts'

/** The models in use. They change when the config is read again, or when a server is found; callers keep this object. */
export interface ModelSet extends Models {
  use(config: Config): void
  /** With no provider configured: looks for keys in the environment and servers on this machine. True where one was found. */
  discover(config: Config, environment: Record<string, string | undefined>): Promise<boolean>
  close(): Promise<void>
}

export function createModelSet(dependencies: { ids: Ids; addSecret(secret: string): void }): ModelSet {
  const offline = createOfflineModel({ ids: dependencies.ids })
  const opened = new Set<GuardedFetch>()
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
  }

  return {
    route: (purpose, source) => current.route(purpose, source),
    byId: (id) => current.byId(id),
    list: () => current.list(),
    use: (config) => build(config.providers, config),
    async discover(config, environment) {
      if (config.providers.length > 0) return false
      const probe = createGuardedFetch({ allowedHosts: localServers })
      try {
        const found = await discoverProviders({ env: environment, fetch: probe })
        if (found.length > 0) build(found, config)
        return found.length > 0
      } finally {
        await probe.close()
      }
    },
    async close() {
      await Promise.all([...opened].map((guarded) => guarded.close()))
    },
  }
}
