import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Parsed } from '../../base/json.ts'
import { type AllowedTarget, EgressError, type ProxyRules } from './destinations.ts'
import type { ProxyLimits, ProxyWays } from './sandbox-proxy.ts'

/**
 * An HTTP proxy: tunnels (CONNECT), and plain requests with an absolute address. `rules` decide about each request; a
 * client follows redirects by new requests. No client input makes it throw. The caller listens, and calls `end` before
 * closing the server, which ends open connections.
 */
export function createProxyServer(options: {
  rules: ProxyRules
  limits: ProxyLimits
  /** Checks the header `Proxy-Authorization`. */
  isAuthorized?(given: string | undefined): boolean
  onReached?(target: URL): void
  /** Called when the rules rejected a request. The returned text is added to the response. */
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

  /** Answers the request itself if it is refused. */
  function admit(incoming: IncomingMessage, answer: (refusal: ProxyRefusal) => void): Admitted | undefined {
    if (!isAuthorized(incoming.headers['proxy-authorization'])) {
      return void answer({ status: 407, text: 'This proxy requires authentication.' })
    }
    const read = readProxyTarget(incoming.method ?? '', incoming.url ?? '')
    if (!read.ok) return void answer({ status: 400, text: `${read.message}.` })
    const target = read.value
    const onReached = () => options.onReached?.(target)
    const onFailed = (cause: unknown) => answer(refuse(cause, target))
    try {
      return { target, allowed: rules(target), ways, onReached, onFailed }
    } catch (cause) {
      return void onFailed(cause)
    }
  }

  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.connectMs,
      requestTimeout: 0,
      keepAliveTimeout: Math.min(5_000, limits.idleMs),
      connectionsCheckingInterval: Math.min(limits.connectMs, 5_000),
      // The address is in the request line; some clients send no Host header.
      requireHostHeader: false,
    },
    (incoming, response) => {
      const answer = ({ status, text }: ProxyRefusal) => {
        const headers = { 'content-type': 'text/plain; charset=utf-8', connection: 'close', ...challengeFor(status) }
        response.writeHead(status, headers).end(`${text}\n`)
      }
      const admitted = admit(incoming, answer)
      if (admitted) forwardRequest(admitted, incoming, response)
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
    const admitted = admit(incoming, (refusal) => client.end(rawAnswer(refusal)))
    if (admitted) openTunnel(admitted, client, head)
  })
  // Without a listener Node would treat it as a plain request, and the client would wait for its upgrade.
  server.on('upgrade', (_incoming: IncomingMessage, client: Duplex) => {
    client.on('error', () => client.destroy())
    client.end(rawAnswer({ status: 501, text: 'This proxy does not support upgrades: use CONNECT.' }))
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

/** A response of the proxy itself, with a reason that can be shown to the user. */
interface ProxyRefusal {
  status: number
  text: string
}

/** Why the target was not reached: rejected by the rules, or a network error. */
function refusalFor(cause: unknown, target: URL): ProxyRefusal {
  const { host } = target
  if (!(cause instanceof EgressError)) {
    const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
    return { status: 502, text: `${host} could not be reached${code}.` }
  }
  if (cause.code === 'timeout') return { status: 504, text: `${host} did not answer in time.` }
  return { status: 403, text: `${cause.message}.` }
}

/** Headers between client and proxy only, not part of the request. */
const ownHeaders = [
  ...['connection', 'expect', 'host', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
]

/** A request that the rules allow. */
interface Admitted {
  target: URL
  allowed: AllowedTarget
  ways: ProxyWays
  onReached(): void
  /** Called before any response was sent. */
  onFailed(cause: unknown): void
}

/**
 * Forwards a plain request to an allowed target and returns the response, unchanged except for the proxy's own headers.
 */
function forwardRequest(admitted: Admitted, incoming: IncomingMessage, response: ServerResponse): void {
  const { ways, onReached, onFailed } = admitted
  const { connectMs, idleMs } = ways.limits
  const outgoing = startRequest(admitted, incoming)
  if (!outgoing) return void onFailed(new Error('The request cannot be forwarded as it is'))
  outgoing.on('socket', (socket) => {
    ways.follow(socket)
    socket.setTimeout(connectMs, () => outgoing.destroy(new EgressError('timeout', 'No connection')))
    socket.once('connect', () => socket.setTimeout(idleMs))
  })
  outgoing.on('error', (cause) => {
    if (response.headersSent) response.destroy()
    else if (!response.destroyed) onFailed(cause)
  })
  outgoing.on('response', (answer) => {
    onReached()
    answer.on('error', () => response.destroy())
    answer.on('data', (chunk: Buffer) => ways.count(chunk.length))
    response.writeHead(answer.statusCode ?? 502, passedOn(answer).flat())
    answer.pipe(response)
  })
  response.once('close', () => outgoing.destroy())
  incoming.on('error', () => outgoing.destroy())
  incoming.on('data', (chunk: Buffer) => ways.count(chunk.length))
  incoming.pipe(outgoing)
}

/** Undefined if Node rejects the request. */
function startRequest({ target, allowed }: Admitted, incoming: IncomingMessage): ClientRequest | undefined {
  const { host, port, lookup } = allowed
  // Not the client's Host header: it must not select another site behind the same address.
  const headers = [...passedOn(incoming), ['host', target.host]]
  // For methods that usually have no body, Node would send the chunks unframed, and the server would read them as
  // requests.
  if (incoming.headers['transfer-encoding'] !== undefined) headers.push(['transfer-encoding', 'chunked'])
  try {
    return request({
      host,
      port,
      ...(lookup && { lookup }),
      // A new connection each time: a reused one belongs to a name that may resolve elsewhere by now.
      agent: false,
      method: incoming.method ?? 'GET',
      path: `${target.pathname}${target.search}`,
      headers: headers.flat(),
      setHost: false,
    })
  } catch {
    return undefined
  }
}

/** The headers in their order and spelling, without hop-by-hop headers. */
function passedOn({ rawHeaders, headers }: IncomingMessage): [string, string][] {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  const dropped = new Set([...ownHeaders, ...named])
  const kept: [string, string][] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    if (!dropped.has(name.toLowerCase())) kept.push([name, value])
  }
  return kept
}

const authority = /^(\[[0-9a-f:.]+\]|[^\s/\\?#@:[\]]+):([0-9]{1,5})$/i

/** The target of a proxy request. Only the request line counts, never a Host header. */
export function readProxyTarget(method: string, target: string): Parsed<URL> {
  return method === 'CONNECT' ? readAuthority(target) : readAbsolute(target)
}

/** `example.com:443`, for a tunnel: always with a port. */
function readAuthority(text: string): Parsed<URL> {
  const port = Number(authority.exec(text)?.[2] ?? 0)
  // Parsed as https whatever the protocol: only the normalized host matters.
  if (port < 1 || !URL.canParse(`https://${text}/`)) return { ok: false, message: 'CONNECT needs a host and a port' }
  return { ok: true, value: new URL(`https://${text}/`) }
}

/** `http://example.com/path`, for a plain request. */
function readAbsolute(text: string): Parsed<URL> {
  if (!/^http:\/\//i.test(text) || !URL.canParse(text)) {
    return { ok: false, message: 'This is a proxy: send requests with an absolute http address, and CONNECT for https' }
  }
  return { ok: true, value: new URL(text) }
}

/**
 * Connects to an allowed target and relays the client's bytes. It ends with either side. `head` arrived together with
 * the request.
 */
function openTunnel({ allowed, ways, onReached, onFailed }: Admitted, client: Duplex, head: Buffer): void {
  const { host, port, lookup } = allowed
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
