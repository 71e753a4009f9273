import { canonicalJson } from '../../base/json.ts'
import { type AllowedHost, EgressError, portOf } from '../../security/network/destinations.ts'
import type { GuardedFetch } from '../../security/network/guarded-fetch.ts'
import { failed, type ToolOutcome } from '../tool.ts'

/** Creates a guarded fetch that reaches the public internet and these hosts of the owner's network. */
export type OpenFetch = (allowedHosts: readonly AllowedHost[]) => GuardedFetch

export type Fetches = ReturnType<typeof createFetches>

/** One guarded fetch per list of hosts, so that a config change takes effect immediately. */
export function createFetches(openFetch: OpenFetch) {
  const opened = new Map<string, GuardedFetch>()
  return {
    reaching(allowedHosts: readonly AllowedHost[]): GuardedFetch {
      const key = canonicalJson(allowedHosts)
      const fetch = opened.get(key) ?? openFetch(allowedHosts)
      opened.set(key, fetch)
      return fetch
    },
    async close(): Promise<void> {
      await Promise.all([...opened.values()].map((fetch) => fetch.close()))
    },
  }
}

export function allowedHostOf(url: URL): AllowedHost {
  return { host: url.hostname, port: portOf(url) }
}

/** The tool result for an error of a guarded fetch. Rethrows if the turn was stopped. */
export function fetchFailure(error: unknown, host: string, signal: AbortSignal): ToolOutcome {
  signal.throwIfAborted()
  if (!(error instanceof EgressError)) {
    return { ...failed(`${host} could not be reached (${reasonOf(error)}).`), serviceFailed: true }
  }
  if (error.code !== 'timeout') return failed(`${error.message}.`)
  return { ...failed(`${host} did not answer in time.`), serviceFailed: true, timedOut: true }
}

/** `fetch` reports only that it failed; its cause has the reason. */
function reasonOf(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') return current.code
  }
  return error instanceof Error ? error.name : 'unknown'
}
