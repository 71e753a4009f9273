import type { Ids } from '../base/ids.ts'
import type { AllowedHost } from '../security/network/destinations.ts'
import { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions } from '../security/network/guarded-fetch.ts'
import type { HomePackages } from './ai-sdk-packages.ts'
import { createImageModels, type ImageModel } from './images.ts'
import type { Models } from './model.ts'
import { createModels, providerHosts, type Routes } from './models-from-config.ts'
import { createOfflineModel } from './offline/offline-model.ts'
import type { ProviderSettings } from './provider-connection.ts'

/** The parts of the config that models need. */
interface ModelConfig {
  providers: readonly ProviderSettings[]
  routes: Routes
  egress: { allowedHosts: readonly AllowedHost[] }
}

/** A large picture in text form, and the time that the slowest models take for it. */
const pictureLimits = { maxBytes: 64 * 1024 * 1024, timeoutMs: 5 * 60_000 }

export type ModelSet = ReturnType<typeof createModelSet>

/** The models in use. They change with a reload of the config; callers keep this object. */
export function createModelSet(dependencies: {
  ids: Ids
  addSecret(secret: string): void
  /** The directory of `familiar models install`, and that command. */
  packages: HomePackages
  /** The command that connects a model, as it works on this machine. */
  setup?: string
}) {
  const { packages } = dependencies
  const offline = createOfflineModel(dependencies)
  const opened = new Set<GuardedFetch>()
  let inUse: readonly ProviderSettings[] = []
  let current: Models = createModels({ providers: [], offline, fetch: openFetch({ streaming: true }) })
  let images: readonly ImageModel[] = []

  function openFetch(options: GuardedFetchOptions): GuardedFetch {
    const guarded = createGuardedFetch(options)
    opened.add(guarded)
    return guarded
  }

  function build(providers: readonly ProviderSettings[], config: ModelConfig): void {
    for (const { apiKey, secrets = [] } of providers) {
      for (const secret of [apiKey ?? '', ...secrets]) if (secret) dependencies.addSecret(secret)
    }
    const hosts = [...providerHosts(providers), ...config.egress.allowedHosts]
    const { routes } = config
    const fetch = openFetch({ streaming: true, allowedHosts: hosts })
    current = createModels({ providers, routes, offline, fetch, packages })
    images = createImageModels({ providers, routes, fetch: openFetch({ ...pictureLimits, allowedHosts: hosts }) })
    inUse = providers
  }

  async function discover(environment: Record<string, string | undefined>): Promise<ProviderSettings[]> {
    const { discoverProviders, localServers } = await import('./discover.ts')
    const probe = createGuardedFetch({ allowedHosts: localServers })
    try {
      return await discoverProviders({ env: environment, fetch: probe })
    } finally {
      await probe.close()
    }
  }

  const models: Models = {
    route: (purpose, source) => current.route(purpose, source),
    byId: (id) => current.byId(id),
    list: () => current.list(),
  }
  return {
    ...models,
    /** The models that make pictures, the best first; empty if none is configured. */
    images: () => images,
    /** The providers in use, with those that were discovered. Their keys are resolved. */
    providers: () => inUse,
    /**
     * Uses the providers of the config. If it names none, uses those whose key is in the environment and the model
     * servers that answer on this machine, which takes a third of a second at most.
     */
    async use(config: ModelConfig, environment: Record<string, string | undefined>): Promise<void> {
      build(config.providers.length > 0 ? config.providers : await discover(environment), config)
    },
    async close(): Promise<void> {
      await Promise.all([...opened].map((guarded) => guarded.close()))
    },
  }
}
