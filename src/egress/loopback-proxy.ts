import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { sha256 } from '../base/hash.ts'
import { type ResolveHost, resolveHost } from './checked-lookup.ts'
import type { AllowedHost } from './destination.ts'
import { hostOf, portOf } from './host-pattern.ts'
import { createPublicRules } from './proxy-rules.ts'
import { createProxyServer } from './proxy-server.ts'
import type { ProxyLimits } from './proxy-ways.ts'

/** A way out for a program that makes its own connections and takes a proxy: the same rules as the guarded fetch (SEC-8). */
export interface LoopbackProxy {
  /** `http://127.0.0.1:PORT` */
  server: string
  /** Without these it serves nobody: every user of the machine can see the port. */
  username: string
  password: string
  /** Why the host and port of an address were refused last; undefined where they were not. */
  refusalOf(url: URL): string | undefined
  close(): Promise<void>
}

export interface LoopbackProxyOptions {
  /**
   * Hosts of the owner's own network. Whatever uses the proxy reaches them at any time, since nobody here knows who asks
   * it to: a browser that shows pages of the internet gets none.
   */
  allowedHosts?: readonly AllowedHost[]
  resolve?: ResolveHost
}

// It lives for as long as the browser does, which has limits of its own.
const limits: ProxyLimits = {
  connections: 256,
  headerBytes: 64 * 1024,
  bytes: Number.POSITIVE_INFINITY,
  connectMs: 30_000,
  idleMs: 10 * 60_000,
}
const mostRefusals = 100
const username = 'familiar'

export async function openLoopbackProxy(options: LoopbackProxyOptions = {}): Promise<LoopbackProxy> {
  const password = randomBytes(24).toString('base64url')
  const credential = sha256(`Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`)
  const refusals = new Map<string, string>()
  const { server, end } = createProxyServer({
    rules: createPublicRules({ listedHosts: options.allowedHosts ?? [], resolve: options.resolve ?? resolveHost }),
    limits,
    // Hashes are of one length, which the comparison needs.
    isAuthorized: (given = '') => timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(credential)),
    onReached: (target) => void refusals.delete(keyOf(target)),
    onRefused(target, { message }) {
      refusals.delete(keyOf(target))
      refusals.set(keyOf(target), message)
      const [oldest] = refusals.keys()
      if (refusals.size > mostRefusals && oldest !== undefined) refusals.delete(oldest)
      return undefined
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    username,
    password,
    refusalOf: (url) => refusals.get(keyOf(url)),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      end()
      await closed
    },
  }
}

function keyOf(url: URL): string {
  return `${hostOf(url)}:${portOf(url)}`
}
