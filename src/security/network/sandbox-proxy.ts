import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { sha256 } from '../../base/ids.ts'
import type { Logger } from '../../base/logger.ts'
import { setNewest } from '../../base/work.ts'
import {
  type AllowedHost,
  createDeclaredRules,
  createPublicRules,
  type EgressError,
  hostOf,
  portOf,
  type ResolveHost,
  resolveHost,
} from './destinations.ts'
import { createProxyServer } from './proxy-server.ts'

export interface ProxiedRun {
  /** In the format of `readHostPattern`: `example.com`, `*.example.com`, `example.com:8443`. */
  hosts: readonly string[]
  /** The tool's name, for the advice in an error. */
  tool: string
  /** Replaces the usual advice on how to allow a host. */
  advice?: string
  /** Called once per host. */
  onRefused?(host: string): void
  signal?: AbortSignal
}

export interface RunProxy {
  /** Accessible to this user only: a driver whose code runs as another user opens its own socket in front of it. */
  socketPath: string
  /** The rejected hosts, each once. */
  refused(): string[]
  /** Ends open connections and removes the socket. Can be called twice; the signal calls it too. */
  close(): Promise<void>
}

export type SandboxProxy = ReturnType<typeof createSandboxProxy>

const defaultLimits: ProxyLimits = {
  connections: 64,
  headerBytes: 16 * 1024,
  bytes: 256 * 1024 * 1024,
  connectMs: 10_000,
  idleMs: 60_000,
}
const maxRefused = 100
/** The kernel's limit for the path of a socket, without the final zero. */
const maxPathLength = 107

/** The network access of a sandbox, which has no other network: a proxy on a separate socket for each run. */
export function createSandboxProxy(dependencies: {
  /** A private directory. Its `proxy` folder is emptied and used. */
  directory: string
  logger: Logger
  /** Hosts on the owner's network, from the config. A tool must declare them too. */
  listedHosts?: () => readonly AllowedHost[]
  resolve?: ResolveHost
  limits?: Partial<ProxyLimits>
}) {
  const { logger, listedHosts = () => [], resolve = resolveHost } = dependencies
  const directory = join(dependencies.directory, 'proxy')
  const limits = { ...defaultLimits, ...dependencies.limits }
  const opened = new Set<RunProxy>()
  let ready: Promise<void> | undefined

  return {
    /** Throws an EgressError if a host is invalid. The caller must close it. */
    async open(run: ProxiedRun): Promise<RunProxy> {
      const rules = createDeclaredRules({ hosts: run.hosts, listedHosts: listedHosts(), resolve })
      ready ??= prepare(directory)
      await ready
      const socketPath = join(directory, randomBytes(8).toString('hex'))
      if (Buffer.byteLength(socketPath) > maxPathLength) {
        throw new Error(`The socket path ${socketPath} is too long. Choose a shorter home with FAMILIAR_HOME.`)
      }
      const refused = new Set<string>()
      const { server, end } = createProxyServer({
        rules,
        limits,
        onRefused(target, cause) {
          if (!refused.has(target.hostname) && refused.size < maxRefused) {
            refused.add(target.hostname)
            logger.info('blocked a host that a tool requested', {
              tool: run.tool,
              host: target.host,
              reason: cause.code,
            })
            run.onRefused?.(target.hostname)
          }
          return adviceFor(cause, target, run)
        },
      })
      let closing: Promise<void> | undefined
      const proxy: RunProxy = {
        socketPath,
        refused: () => [...refused],
        close() {
          closing ??= new Promise<void>((resolve) => {
            run.signal?.removeEventListener('abort', onAbort)
            server.close(() => resolve())
            end()
          }).finally(() => opened.delete(proxy))
          return closing
        },
      }
      const onAbort = () => void proxy.close()
      run.signal?.throwIfAborted()
      run.signal?.addEventListener('abort', onAbort, { once: true })
      opened.add(proxy)
      try {
        server.listen(socketPath)
        await once(server, 'listening')
        await chmod(socketPath, 0o600)
      } catch (cause) {
        await proxy.close()
        throw cause
      }
      server.on('error', (cause) => logger.warn('error in the proxy of a tool', { tool: run.tool, error: cause }))
      return proxy
    },
    async close(): Promise<void> {
      await Promise.all([...opened].map((proxy) => proxy.close()))
      if (ready) await rm(directory, { recursive: true, force: true })
      ready = undefined
    },
  }
}

/** Empties the folder: it contains only remains of interrupted runs. */
async function prepare(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { recursive: true, mode: 0o700 })
}

function adviceFor(
  { code }: EgressError,
  target: URL,
  { tool, advice }: Pick<ProxiedRun, 'tool' | 'advice'>,
): string | undefined {
  if (code === 'blocked_address')
    return 'Hosts on your own network must be listed in familiar.toml: egress.allowed_hosts'
  if (code !== 'blocked_host') return undefined
  if (advice !== undefined) return advice
  const isUsual = target.port === '' || target.port === '80' || target.port === '443'
  return `The owner can allow it: familiar tools allow ${tool} ${isUsual ? target.hostname : target.host}`
}

export type LoopbackProxy = Awaited<ReturnType<typeof openLoopbackProxy>>

export interface LoopbackProxyOptions {
  /**
   * Hosts of the owner's network. The program behind the proxy can reach them at any time, because the proxy cannot
   * know who caused a request: a browser that shows public pages gets none.
   */
  allowedHosts?: readonly AllowedHost[]
  resolve?: ResolveHost
}

// It lives as long as the browser, which has its own limits.
const limits: ProxyLimits = {
  connections: 256,
  headerBytes: 64 * 1024,
  bytes: Number.POSITIVE_INFINITY,
  connectMs: 30_000,
  idleMs: 10 * 60_000,
}
const maxRefusals = 100
const username = 'familiar'

/** A proxy for a program that makes its own connections, with the rules of the guarded fetch (SEC-8). */
export async function openLoopbackProxy(options: LoopbackProxyOptions = {}) {
  const password = randomBytes(24).toString('base64url')
  const credential = sha256(`Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`)
  const refusals = new Map<string, string>()
  const { server, end } = createProxyServer({
    rules: createPublicRules({ listedHosts: options.allowedHosts ?? [], resolve: options.resolve ?? resolveHost }),
    limits,
    // Hashes have equal lengths, which the comparison requires.
    isAuthorized: (given = '') => timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(credential)),
    onReached: (target) => void refusals.delete(keyOf(target)),
    onRefused(target, { message }) {
      setNewest(refusals, keyOf(target), message, maxRefusals)
      return undefined
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Required, because every user of the machine can see the port. */
    username,
    password,
    /** Why the host and port of an address were last rejected; undefined if they were not. */
    refusalOf: (url: URL) => refusals.get(keyOf(url)),
    async close(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve))
      end()
      await closed
    },
  }
}

function keyOf(url: URL): string {
  return `${hostOf(url)}:${portOf(url)}`
}

export interface ProxyLimits {
  connections: number
  headerBytes: number
  /** In both directions and over all connections. One byte more ends all of them. */
  bytes: number
  /** For connecting to a server, and for receiving a complete request head. */
  connectMs: number
  /** Without a byte in either direction. */
  idleMs: number
}

/** State that all connections of a proxy share: limits, and everything that must end with it. */
export interface ProxyWays {
  limits: ProxyLimits
  count(bytes: number): void
  follow(stream: Duplex): void
}
