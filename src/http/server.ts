import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Logger, silentLogger } from '../base/logger.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { HttpApp } from './app.ts'
import { errorReply, errorReplyFor } from './replies.ts'

export type HttpServer = Awaited<ReturnType<typeof serveHttp>>

export type ServerLimits = typeof defaultLimits

const defaultLimits = {
  maxHeaderBytes: 16 * 1024,
  maxConnections: 1024,
  /** For the headers of a request, and for all of it. How long an answer takes is not limited. */
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
}

/** Resolves when the server listens. Port 0 means any free port. Throws `conflict` if the port is in use. */
export async function serveHttp(options: {
  app: HttpApp['app']
  /** Without it, `close` waits its full grace period for open streams. */
  endStreams?: HttpApp['endStreams']
  host: string
  port: number
  clock?: Clock
  logger?: Logger
  limits?: Partial<ServerLimits>
}) {
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
  // Usually too many open files: new connections fail for a while, which must not end the process.
  server.on('error', (cause) => logger.error('HTTP server error', { error: cause }))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`,
    port,
    /** Accepts no more requests, ends the streams, lets running replies finish, and closes the rest after `graceMs`. */
    async close(graceMs: number): Promise<void> {
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
    EADDRINUSE: `Port ${port} on ${host} is in use by another program.`,
    EACCES: `This user may not open port ${port} on ${host}.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine.`,
  }
  const code = cause.code === 'EADDRINUSE' ? 'conflict' : 'unavailable'
  return new FamiliarError(code, messages[cause.code ?? ''] ?? `Cannot listen on ${host}:${port}.`, { cause })
}

/** Requests that are not HTTP never reach the application; they get an error in the same shape and are closed. */
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
