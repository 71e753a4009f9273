import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { EgressError } from './egress-error.ts'
import { type ProxyRefusal, refusalFor } from './proxy-refusal.ts'
import { forwardRequest } from './proxy-request.ts'
import type { AllowedTarget, ProxyRules } from './proxy-rules.ts'
import { readProxyTarget } from './proxy-target.ts'
import { openTunnel } from './proxy-tunnel.ts'
import type { ProxyLimits, ProxyWays } from './proxy-ways.ts'

/**
 * An HTTP proxy: tunnels (CONNECT), and plain requests with a whole address. `rules` decide about each one; a redirect is
 * the client's own next request. Nothing that a client sends throws. The caller listens, and calls `end` before it closes
 * the server: what is under way ends there.
 */
export function createProxyServer(options: {
  rules: ProxyRules
  limits: ProxyLimits
  /** Judges the header `Proxy-Authorization`. */
  isAuthorized?(given: string | undefined): boolean
  onReached?(target: URL): void
  /** The rules refused it. What is returned is added to the answer. */
  onRefused?(target: URL, cause: EgressError): string | undefined
}): { server: Server; end(): void } {
  const { rules, limits, isAuthorized = () => true } = options
  const streams = new Set<Duplex>()
  let passed = 0

  function end(): void {
    for (const stream of streams) stream.destroy()
  }

  const ways: ProxyWays = {
    limits,
    count(bytes) {
      passed += bytes
      if (passed > limits.bytes) end()
    },
    follow(stream) {
      streams.add(stream)
      stream.once('close', () => streams.delete(stream))
    },
  }

  function refuse(cause: unknown, target: URL): ProxyRefusal {
    const refusal = refusalFor(cause, target)
    const isByRule = cause instanceof EgressError && refusal.status === 403
    const advice = isByRule ? options.onRefused?.(target, cause) : undefined
    return advice ? { ...refusal, text: `${refusal.text} ${advice}` } : refusal
  }

  function admit(incoming: IncomingMessage): { target: URL; allowed: AllowedTarget } | ProxyRefusal {
    if (!isAuthorized(incoming.headers['proxy-authorization'])) {
      return { status: 407, text: 'The proxy serves one program alone.' }
    }
    const read = readProxyTarget(incoming.method ?? '', incoming.url ?? '')
    if (!read.ok) return { status: 400, text: `${read.message}.` }
    try {
      return { target: read.value, allowed: rules(read.value) }
    } catch (cause) {
      return refuse(cause, read.value)
    }
  }

  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.connectMs,
      requestTimeout: 0,
      keepAliveTimeout: Math.min(5_000, limits.idleMs),
      connectionsCheckingInterval: Math.min(limits.connectMs, 5_000),
      // The address is in the request line; some clients send no Host beside it.
      requireHostHeader: false,
    },
    (incoming, response) => {
      const answer = ({ status, text }: ProxyRefusal) => {
        const headers = { 'content-type': 'text/plain; charset=utf-8', connection: 'close', ...challengeFor(status) }
        response.writeHead(status, headers).end(`${text}\n`)
      }
      const admitted = admit(incoming)
      if ('status' in admitted) return answer(admitted)
      const { target } = admitted
      forwardRequest({
        ...admitted,
        incoming,
        response,
        ways,
        onReached: () => options.onReached?.(target),
        onFailed: (cause) => answer(refuse(cause, target)),
      })
    },
  )
  server.maxConnections = limits.connections
  server.on('connection', (socket) => {
    ways.follow(socket)
    socket.setTimeout(limits.idleMs)
  })
  server.on('timeout', (socket) => socket.destroy())
  server.on('connect', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => client.destroy())
    const answer = (refusal: ProxyRefusal) => client.end(rawAnswer(refusal))
    const admitted = admit(incoming)
    if ('status' in admitted) return answer(admitted)
    const { target } = admitted
    openTunnel({
      ...admitted,
      client,
      head,
      ways,
      onReached: () => options.onReached?.(target),
      onFailed: (cause) => answer(refuse(cause, target)),
    })
  })
  // Without a listener Node would treat it as a plain request, and the client would wait for its upgrade.
  server.on('upgrade', (_incoming: IncomingMessage, client: Duplex) => {
    client.on('error', () => client.destroy())
    client.end(rawAnswer({ status: 501, text: 'This proxy upgrades nothing: use CONNECT.' }))
  })
  server.on('clientError', (_cause, client) => {
    if (client.writable) client.end(rawAnswer({ status: 400, text: 'This is not a valid HTTP request.' }))
    else client.destroy()
  })
  return { server, end }
}

function challengeFor(status: number): Record<string, string> {
  return status === 407 ? { 'proxy-authenticate': 'Basic realm="familiar"' } : {}
}

function rawAnswer({ status, text }: ProxyRefusal): string {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text) + 1}`,
    'Connection: close',
    ...Object.entries(challengeFor(status)).map(([name, value]) => `${name}: ${value}`),
  ]
  return `${lines.join('\r\n')}\r\n\r\n${text}\n`
}
