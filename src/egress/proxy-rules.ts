import type { LookupFunction } from 'node:net'
import { createCheckedLookup, type ResolveHost } from './checked-lookup.ts'
import { type AllowedHost, checkDestination, createListedHosts } from './destination.ts'
import { EgressError } from './egress-error.ts'
import { hostOf, matchesHost, portOf, readHostPattern } from './host-pattern.ts'

/** Where a request may go, and how its name is resolved: by the system, for hosts that the owner listed. */
export interface AllowedTarget {
  host: string
  port: number
  lookup: LookupFunction | undefined
}

/** Decides from the URL; the addresses behind a name are checked by the lookup. Throws an EgressError for a refusal. */
export type ProxyRules = (target: URL) => AllowedTarget

/** Whatever is on the public internet, and the listed hosts. */
export function createPublicRules(options: { listedHosts: readonly AllowedHost[]; resolve: ResolveHost }): ProxyRules {
  const isListed = createListedHosts(options.listedHosts)
  const lookup = createCheckedLookup(options.resolve)
  return (target) => {
    const { listed } = checkDestination(target, isListed)
    return { host: hostOf(target), port: portOf(target), lookup: listed ? undefined : lookup }
  }
}

/**
 * The declared hosts and no other, by the same guard as everything else. A host of the owner's network must be declared
 * and listed. Throws at once for a declaration that is no host.
 */
export function createDeclaredRules(options: {
  hosts: readonly string[]
  listedHosts: readonly AllowedHost[]
  resolve: ResolveHost
}): ProxyRules {
  const patterns = options.hosts.map((text) => {
    const read = readHostPattern(text)
    if (!read.ok) throw new EgressError('blocked_url', read.message)
    return read.value
  })
  const publicRules = createPublicRules(options)
  return (target) => {
    const allowed = publicRules(target)
    if (matchesHost(patterns, target)) return allowed
    throw new EgressError('blocked_host', `${hostOf(target)}:${portOf(target)} is not among the declared hosts`)
  }
}
