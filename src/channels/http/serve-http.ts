import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import { type Clock, systemClock } from '../../base/clock.ts'
import { type Logger, silentLogger } from '../../base/logger.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { HttpApp } from './create-http-app.ts'
import { errorReply, errorReplyFor } from './error-reply.ts'

export interface HttpServer {
  url: string
  port: number
  /** Takes no further request, ends the streams, lets answers under way finish, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>
}

export interface ServerLimits {
  maxHeaderBytes: number
  maxConnections: number
  /** For the headers of a request, and for all of it. How long an answer takes is not limited. */
  headersTimeoutMs: number
  requestTimeoutMs: number
}

const defaultLimits: ServerLimits = {
  maxHeaderBytes: 16 * 1024,
  maxConnections: 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
}

/** Resolves when it listens. Port 0 takes any that is free; one that is taken is a `conflict` that names it. */
export async function serveHttp(options: {
  app: HttpApp['app']
  /** Without it, `close` waits its whole grace for whoever watches a session. */
  endStreams?: HttpApp['endStreams']
  host: string
  port: number
  clock?: Clock
  logger?: Logger
  limits?: Partial<ServerLimits>
}): Promise<HttpServer> {
  const { app, endStreams, host, clock = systemClock(), logger = silentLogger } = options
  const limits = { ...defaultLimits, ...options.limits }
  const listener = getRequestListener(app.fetch, {
    // A request without a Host has to reach the guard that refuses it; this name is on no list.
    hostname: 'missing.invalid',
    // The rest of the process keeps the Request and Response that it knows; this costs some 40 microseconds a request.
    overrideGlobalObjects: false,
    errorHandler: (cause) =>
      cause instanceof RequestError
        ? errorReply('bad_request', 'The request line or the Host header is malformed.')
        : errorReplyFor(cause, logger),
  })
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, 5_000),
      requireHostHeader: false,
    },
    (incoming, outgoing) => void listener(incoming, outgoing),
  )
  server.maxConnections = limits.maxConnections
  server.on('clientError', refuseMalformed)
  await listen(server, options)
  // Too many open files, mostly: connections are not taken for a while, and that must not end the process.
  server.on('error', (cause) => logger.error('the HTTP server has a problem', { error: cause }))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`,
    port,
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      endStreams?.()
      server.closeIdleConnections()
      const cancel = clock.after(graceMs, () => server.closeAllConnections())
      await closed
      cancel()
    },
  }
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(toListenError(cause, host, port)))
    server.listen({ host: host.replace(/^\[|\]$/g, ''), port }, resolve)
  })
}

function toListenError(cause: NodeJS.ErrnoException, host: string, port: number): FamiliarError {
  const messages: Record<string, string> = {
    EADDRINUSE: `The port ${port} on ${host} is taken by another program.`,
    EACCES: `The port ${port} on ${host} may not be opened by this user.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine.`,
  }
  const code = cause.code === 'EADDRINUSE' ? 'conflict' : 'unavailable'
  return new FamiliarError(code, messages[cause.code ?? ''] ?? `Cannot listen on ${host}:${port}.`, { cause })
}

/** What is not HTTP never reaches the application; it is told so in the same shape and cut off. */
function refuseMalformed(cause: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || cause.code === 'ECONNRESET') return void socket.destroy()
  const [status, code, error] =
    cause.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'payload_too_large', 'The headers are too large.']
      : cause.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'timeout', 'The request took too long to arrive.']
        : ['400 Bad Request', 'bad_request', 'This is not a valid HTTP request.']
  const body = JSON.stringify({ error, code })
  const head = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\n`
  socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}
