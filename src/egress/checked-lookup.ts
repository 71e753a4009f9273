import { lookup as systemLookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { blockedAddress } from './destination.ts'
import { EgressError } from './egress-error.ts'
import { isPublicAddress } from './public-address.ts'

export interface ResolvedAddress {
  address: string
  family: number
}

export type ResolveHost = (hostname: string) => Promise<ResolvedAddress[]>

export const resolveHost: ResolveHost = (hostname) => systemLookup(hostname, { all: true })

/**
 * The name lookup of a connection. The socket connects to an address that came out of here, so a name cannot point
 * elsewhere between check and use. One private address among the answers refuses the name: which one a socket takes is
 * not ours to say.
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
