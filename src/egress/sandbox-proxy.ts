import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../base/logger.ts'
import { type ResolveHost, resolveHost } from './checked-lookup.ts'
import type { AllowedHost } from './destination.ts'
import type { EgressError } from './egress-error.ts'
import { createDeclaredRules } from './proxy-rules.ts'
import { createProxyServer } from './proxy-server.ts'
import type { ProxyLimits } from './proxy-ways.ts'

export interface ProxiedRun {
  /** As `readHostPattern` takes them: `example.com`, `*.example.com`, `example.com:8443`. */
  hosts: readonly string[]
  /** What the owner calls the tool, for the advice in a refusal. */
  tool: string
  /** Said with a refusal in place of how a tool is allowed a host. */
  advice?: string
  /** Once for each host. */
  onRefused?(host: string): void
  signal?: AbortSignal
}

export interface RunProxy {
  /** For this user alone: a driver whose code runs as another one opens a door of its own to it. */
  socketPath: string
  /** The hosts that were asked for and refused, each once. */
  refused(): string[]
  /** Ends what is under way and removes the socket. Safe to call twice; the signal calls it too. */
  close(): Promise<void>
}

/** The way out of a sandbox, whose network is empty otherwise: a proxy on a socket of its own for every run. */
export interface SandboxProxy {
  /** Throws an EgressError where a host is none. Whoever opens it closes it. */
  open(run: ProxiedRun): Promise<RunProxy>
  close(): Promise<void>
}

const defaultLimits: ProxyLimits = {
  connections: 64,
  headerBytes: 16 * 1024,
  bytes: 256 * 1024 * 1024,
  connectMs: 10_000,
  idleMs: 60_000,
}
const mostRefused = 100
/** What the kernel takes for the path of a socket, without the final zero. */
const longestPath = 107

export function createSandboxProxy(dependencies: {
  /** Ours alone. A `proxy` folder in it is emptied and used. */
  directory: string
  logger: Logger
  /** Hosts on the owner's own network, from the config. A tool must declare them all the same. */
  listedHosts?: () => readonly AllowedHost[]
  resolve?: ResolveHost
  limits?: Partial<ProxyLimits>
}): SandboxProxy {
  const { logger, listedHosts = () => [], resolve = resolveHost } = dependencies
  const directory = join(dependencies.directory, 'proxy')
  const limits = { ...defaultLimits, ...dependencies.limits }
  const opened = new Set<RunProxy>()
  let ready: Promise<void> | undefined

  return {
    async open(run) {
      const rules = createDeclaredRules({ hosts: run.hosts, listedHosts: listedHosts(), resolve })
      ready ??= prepare(directory)
      await ready
      const socketPath = join(directory, randomBytes(8).toString('hex'))
      if (Buffer.byteLength(socketPath) > longestPath) {
        throw new Error(`${socketPath} is too long for a socket. Choose a shorter home: FAMILIAR_HOME`)
      }
      const refused = new Set<string>()
      const { server, end } = createProxyServer({
        rules,
        limits,
        onRefused(target, cause) {
          if (!refused.has(target.hostname) && refused.size < mostRefused) {
            refused.add(target.hostname)
            logger.info('a tool was refused a host', { tool: run.tool, host: target.host, reason: cause.code })
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
      server.on('error', (cause) => logger.warn('the proxy of a tool has a problem', { tool: run.tool, error: cause }))
      return proxy
    },
    async close() {
      await Promise.all([...opened].map((proxy) => proxy.close()))
      if (ready) await rm(directory, { recursive: true, force: true })
      ready = undefined
    },
  }
}

/** Empty: what lies there is of runs that were cut off. */
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
    return 'A host of the own network has to be listed in familiar.toml: egress.allowed_hosts'
  if (code !== 'blocked_host') return undefined
  if (advice !== undefined) return advice
  const isUsual = target.port === '' || target.port === '80' || target.port === '443'
  return `Its owner can allow it: familiar tools allow ${tool} ${isUsual ? target.hostname : target.host}`
}
