import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { EgressError } from './egress-error.ts'
import type { AllowedTarget } from './proxy-rules.ts'
import type { ProxyWays } from './proxy-ways.ts'

/** A connection to where the rules allow it, and the client's bytes through it. It ends with either side. */
export function openTunnel(tunnel: {
  allowed: AllowedTarget
  client: Duplex
  /** What came together with the request. */
  head: Buffer
  ways: ProxyWays
  onReached(): void
  onFailed(cause: unknown): void
}): void {
  const { client, head, ways, onReached, onFailed } = tunnel
  const { host, port, lookup } = tunnel.allowed
  const { connectMs, idleMs } = ways.limits
  const server = connect({ host, port, ...(lookup && { lookup }) })
  ways.follow(server)
  server.setTimeout(connectMs, () => server.destroy(new EgressError('timeout', 'No connection')))
  client.once('close', () => server.destroy())

  let isReached = false
  server.on('error', (cause) => {
    if (isReached) client.destroy()
    else if (!client.destroyed) onFailed(cause)
  })
  server.once('close', () => {
    if (isReached) client.end()
  })
  server.once('connect', () => {
    isReached = true
    onReached()
    server.setTimeout(idleMs, () => server.destroy())
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    ways.count(head.length)
    server.write(head)
    for (const stream of [client, server]) stream.on('data', (chunk: Buffer) => ways.count(chunk.length))
    client.pipe(server).pipe(client)
  })
}
