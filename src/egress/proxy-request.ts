import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { EgressError } from './egress-error.ts'
import type { AllowedTarget } from './proxy-rules.ts'
import type { ProxyWays } from './proxy-ways.ts'

/** Between the client and the proxy alone, and no part of what is asked. */
const ownHeaders = new Set([
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

interface Forwarded {
  target: URL
  allowed: AllowedTarget
  incoming: IncomingMessage
  response: ServerResponse
  ways: ProxyWays
  onReached(): void
  /** Nothing was answered yet. */
  onFailed(cause: unknown): void
}

/** A plain request to where the rules allow it, and its answer back, as they are but for what concerns the proxy itself. */
export function forwardRequest(forwarded: Forwarded): void {
  const { incoming, response, ways, onReached, onFailed } = forwarded
  const { connectMs, idleMs } = ways.limits
  const outgoing = startRequest(forwarded)
  if (!outgoing) return void onFailed(new Error('It cannot be sent as it is'))
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

/** Undefined where Node does not send such a request. */
function startRequest({ target, allowed, incoming }: Forwarded): ClientRequest | undefined {
  const { host, port, lookup } = allowed
  // Not the client's own host: an allowed server must not be asked for the pages of another one behind the same address.
  const headers = [...passedOn(incoming), ['host', target.host]]
  // With a method that has no body otherwise, Node would send the chunks bare, and the server take them for requests.
  if (incoming.headers['transfer-encoding'] !== undefined) headers.push(['transfer-encoding', 'chunked'])
  try {
    return request({
      host,
      port,
      ...(lookup && { lookup }),
      // A connection of its own: one that is kept open would be that of a name that may lead elsewhere by now.
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

/** Its headers in their order and spelling, without those of the connection and those that it names as such. */
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
