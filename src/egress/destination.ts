import ipaddr from 'ipaddr.js'
import { EgressError } from './egress-error.ts'
import { isPublicAddress } from './public-address.ts'

/** A host on the owner's own network that the owner listed. Without a port, every port of it. */
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
 * What can be decided from the URL alone. It reads only what `new URL` made of the text: that is what will be connected
 * to, whatever the spelling was. A name passes here and is checked again by its addresses.
 */
export function checkDestination(url: URL, isListed: (url: URL) => boolean): Destination {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new EgressError('blocked_url', `Only http and https addresses can be fetched, not ${url.protocol}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new EgressError('blocked_url', `The address of ${url.hostname} carries a user name or password`)
  }
  if (isListed(url)) return { url, listed: true }
  const address = literalAddress(url.hostname)
  if (address !== undefined && !isPublicAddress(address)) throw blockedAddress(url.hostname, address)
  return { url, listed: false }
}

/** The same for the target of a redirect. A page on the internet must not steer into a listed host: only the owner does. */
export function checkRedirect(from: Destination, target: URL, isListed: (url: URL) => boolean): Destination {
  return checkDestination(target, from.listed ? isListed : () => false)
}

export function createListedHosts(allowedHosts: readonly AllowedHost[]): (url: URL) => boolean {
  const listed = new Set(allowedHosts.map(({ host, port }) => `${normaliseHost(host)} ${port ?? '*'}`))
  return (url) => {
    const host = normaliseHost(url.hostname)
    const port = url.port || (url.protocol === 'https:' ? '443' : '80')
    return listed.has(`${host} ${port}`) || listed.has(`${host} *`)
  }
}

export function blockedAddress(host: string, address: string): EgressError {
  const which = host === address ? host : `${host} (${address})`
  return new EgressError('blocked_address', `${which} is not a public address, and the configuration does not list it`)
}

/** The same host in the same spelling, however it was written: case, brackets, a final dot. */
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
