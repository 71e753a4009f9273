import { lookup as systemLookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Parsed } from '../../base/json.ts'

/** An allowed destination. Hosts that the owner listed are resolved by the system. */
export interface AllowedTarget {
  host: string
  port: number
  lookup: LookupFunction | undefined
}

/** Decides from the URL; the addresses of a name are checked by the lookup. Throws an EgressError to reject. */
export type ProxyRules = (target: URL) => AllowedTarget

/** The public internet and the listed hosts. */
export function createPublicRules(options: { listedHosts: readonly AllowedHost[]; resolve: ResolveHost }): ProxyRules {
  const isListed = createListedHosts(options.listedHosts)
  const lookup = createCheckedLookup(options.resolve)
  return (target) => {
    const { listed } = checkDestination(target, isListed)
    return { host: hostOf(target), port: portOf(target), lookup: listed ? undefined : lookup }
  }
}

/**
 * Only the declared hosts, through the same guard as everything else. A host of the owner's network must be declared
 * and listed. Throws immediately for a declaration that is not a host.
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

type EgressErrorCode =
  | 'blocked_url'
  | 'blocked_host'
  | 'blocked_address'
  | 'too_many_redirects'
  | 'redirect_refused'
  | 'body_not_replayable'
  | 'too_large'
  | 'timeout'

/** Why the guard rejected or aborted a request. If the code starts with `blocked`, nothing was sent. */
export class EgressError extends Error {
  readonly code: EgressErrorCode

  constructor(code: EgressErrorCode, message: string) {
    super(message)
    this.name = 'EgressError'
    this.code = code
  }
}

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address is on the public internet. Unusual spellings, zones, and addresses that embed another one (mapped,
 * 6to4, Teredo, NAT64) do not count as public.
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address).range() === 'unicast'
  if (address.includes('%') || !ipaddr.IPv6.isValid(address)) return false
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.match(globalUnicast) && parsed.range() === 'unicast'
}

/** A host on the owner's network that the owner listed. Without a port, all ports. */
export interface AllowedHost {
  host: string
  port?: number | undefined
}

export interface Destination {
  url: URL
  /** The owner listed it, so its addresses are not checked. */
  listed: boolean
}

/**
 * The checks that need only the URL. They read only the result of `new URL`, because that is what will be connected to,
 * whatever the spelling was. A name passes here, and its addresses are checked later.
 */
export function checkDestination(url: URL, isListed: (url: URL) => boolean): Destination {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new EgressError('blocked_url', `Only http and https addresses can be fetched, not ${url.protocol}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new EgressError('blocked_url', `The address of ${url.hostname} contains a user name or password`)
  }
  if (isListed(url)) return { url, listed: true }
  const address = literalAddress(url.hostname)
  if (address !== undefined && !isPublicAddress(address)) throw blockedAddress(url.hostname, address)
  return { url, listed: false }
}

/** The same for the target of a redirect. A public page must not redirect to a listed host. */
export function checkRedirect(from: Destination, target: URL, isListed: (url: URL) => boolean): Destination {
  return checkDestination(target, from.listed ? isListed : () => false)
}

export function createListedHosts(allowedHosts: readonly AllowedHost[]): (url: URL) => boolean {
  const listed = new Set(allowedHosts.map(({ host, port }) => `${normaliseHost(host)} ${port ?? '*'}`))
  return (url) => {
    const host = normaliseHost(url.hostname)
    return listed.has(`${host} ${portOf(url)}`) || listed.has(`${host} *`)
  }
}

function blockedAddress(host: string, address: string): EgressError {
  const which = host === address ? host : `${host} (${address})`
  return new EgressError('blocked_address', `${which} is not a public address, and the configuration does not list it`)
}

/** Normalizes the spelling of a host: case, brackets, a final dot. */
function normaliseHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
}

function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return bare !== hostname || ipaddr.IPv4.isValid(bare) ? bare : undefined
}

export interface ResolvedAddress {
  address: string
  family: number
}

export type ResolveHost = (hostname: string) => Promise<ResolvedAddress[]>

export const resolveHost: ResolveHost = (hostname) => systemLookup(hostname, { all: true })

/**
 * The name lookup of a connection. The socket connects to an address that was checked here, so the name cannot change
 * between check and use. One private address rejects the name, because the socket may choose any of them.
 */
export function createCheckedLookup(resolve: ResolveHost): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const first = addresses[0]
        const bad = addresses.find(({ address }) => !isPublicAddress(address))
        if (bad) callback(blockedAddress(hostname, bad.address), [])
        else if (!first) callback(new EgressError('blocked_address', `${hostname} has no address`), [])
        else if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    )
  }
}

/** A host that a tool declares in its manifest: `example.com`, `*.example.com`, `example.com:8443`. */
interface HostPattern {
  /** As `new URL` writes it, without a final dot. For a wildcard, the part after it. */
  host: string
  isWildcard: boolean
  /** Undefined: the default ports of http and https. */
  port: number | undefined
}

const usualPorts = new Set([80, 443])
const written = /^(\*\.)?([^\s/\\?#@*%:]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?$/i

/** Parses untrusted text as a pattern. Only real hosts pass: no scheme, no path, no bare `*` or `*.com`. */
export function readHostPattern(text: string): Parsed<HostPattern> {
  const [, wildcard, name = '', digits] = written.exec(text) ?? []
  const bad = (message: string): Parsed<HostPattern> => ({ ok: false, message })
  if (!URL.canParse(`http://${name}`)) {
    return bad(`${JSON.stringify(text)} is not a host; write example.com, *.example.com or example.com:8443`)
  }
  const host = hostOf(new URL(`http://${name}`))
  if (host === '') return bad(`${JSON.stringify(text)} contains no host name`)
  if (!ipaddr.isValid(host) && !isName(host)) {
    return bad(`${JSON.stringify(text)} is not a host name; write example.com, *.example.com or example.com:8443`)
  }
  const port = digits === undefined ? undefined : Number(digits)
  if (port !== undefined && (port < 1 || port > 65_535)) return bad(`${JSON.stringify(text)} has an invalid port`)
  const isWildcard = wildcard !== undefined
  if (isWildcard && (ipaddr.isValid(host) || !host.includes('.'))) {
    return bad(`${JSON.stringify(text)} would allow far more than one host and its subdomains`)
  }
  return { ok: true, value: { host, isWildcard, port } }
}

/** Labels of letters, digits, "-" and "_". The URL parser also accepts commas, quotes and brackets. */
function isName(host: string): boolean {
  return host.length <= 253 && host.split('.').every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))
}

/** Whether one of the patterns matches the URL's host and port. */
export function matchesHost(patterns: readonly HostPattern[], url: URL): boolean {
  const host = hostOf(url)
  const port = portOf(url)
  return patterns.some((pattern) => {
    const isHost = pattern.isWildcard ? host.endsWith(`.${pattern.host}`) : host === pattern.host
    return isHost && (pattern.port === undefined ? usualPorts.has(port) : pattern.port === port)
  })
}

export function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}

/** Without brackets and a final dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}
