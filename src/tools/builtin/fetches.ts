import { canonicalJson } from '../../base/json.ts'
import type { AllowedHost } from '../../egress/destination.ts'
import type { GuardedFetch } from '../../egress/guarded-fetch.ts'
import { portOf } from '../../egress/host-pattern.ts'

/** Makes a guarded fetch that reaches the public internet and these hosts of the owner's network. */
export type OpenFetch = (allowedHosts: readonly AllowedHost[]) => GuardedFetch

/** One guarded fetch for each list of hosts, so that a config that changes takes effect at once. */
export interface Fetches {
  reaching: OpenFetch
  close(): Promise<void>
}

export function createFetches(openFetch: OpenFetch): Fetches {
  const opened = new Map<string, GuardedFetch>()
  return {
    reaching(allowedHosts) {
      const key = canonicalJson(allowedHosts)
      const known = opened.get(key)
      if (known) return known
      const fetch = openFetch(allowedHosts)
      opened.set(key, fetch)
      return fetch
    },
    async close() {
      await Promise.all([...opened.values()].map((fetch) => fetch.close()))
    },
  }
}

export function allowedHostOf(url: URL): AllowedHost {
  return { host: url.hostname, port: portOf(url) }
}
