import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../src/base/logger.ts'
import { EgressError } from '../../src/security/network/destinations.ts'
import { createGuardedFetch } from '../../src/security/network/guarded-fetch.ts'
import { createSandboxProxy, openLoopbackProxy } from '../../src/security/network/sandbox-proxy.ts'
import { createTableResolver, declaredHosts, listedHosts } from './egress-table.ts'
import type { Answered, WayOut } from './egress-world.ts'

/** Every network access of the program. A new one must be added here. */
export const waysOut: readonly (() => Promise<WayOut>)[] = [
  fetchWay,
  openWay,
  () => sandboxWay('GET'),
  () => sandboxWay('CONNECT'),
  () => browserWay('GET'),
  () => browserWay('CONNECT'),
]

async function fetchWay(): Promise<WayOut> {
  const guarded = createGuardedFetch({ allowedHosts: listedHosts, resolve: createTableResolver(), timeoutMs: 5_000 })
  return {
    name: 'guarded fetch',
    policy: 'fetch',
    reach: (url) => telling(async () => (await guarded(url)).text()),
    close: guarded.close,
  }
}

async function openWay(): Promise<WayOut> {
  const guarded = createGuardedFetch({ allowedHosts: listedHosts, resolve: createTableResolver(), streaming: true })
  return {
    name: 'guarded fetch, open',
    policy: 'fetch',
    reach: (url) =>
      telling(async () => {
        const signal = AbortSignal.timeout(5_000)
        const answer = await guarded.open?.(url, { method: 'GET', headers: {}, signal })
        let text = ''
        for (let bytes = await answer?.read(); bytes; bytes = await answer?.read()) text += Buffer.from(bytes)
        return text
      }),
    close: guarded.close,
  }
}

async function sandboxWay(method: 'GET' | 'CONNECT'): Promise<WayOut> {
  const directory = mkdtempSync(join(tmpdir(), 'fw-'))
  const proxies = createSandboxProxy({
    directory,
    logger: silentLogger,
    resolve: createTableResolver(),
    listedHosts: () => listedHosts,
  })
  const { socketPath } = await proxies.open({ hosts: declaredHosts, tool: 'table' })
  return {
    name: `sandbox proxy, ${method}`,
    policy: 'declared',
    ...(method === 'CONNECT' && { isTunnel: true }),
    reach: (url) => throughProxy(url, { method, open: () => connect(socketPath), headers: '' }),
    async close() {
      await proxies.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function browserWay(method: 'GET' | 'CONNECT'): Promise<WayOut> {
  const proxy = await openLoopbackProxy({ resolve: createTableResolver() })
  const credential = Buffer.from(`${proxy.username}:${proxy.password}`).toString('base64')
  const headers = `Proxy-Authorization: Basic ${credential}\r\n`
  const port = Number(new URL(proxy.server).port)
  return {
    name: `browser proxy, ${method}`,
    policy: 'browser',
    ...(method === 'CONNECT' && { isTunnel: true }),
    reach: (url) => throughProxy(url, { method, open: () => connect(port, '127.0.0.1'), headers }),
    close: proxy.close,
  }
}

async function telling(ask: () => Promise<string>): Promise<Answered> {
  try {
    return { end: 'answered', text: await ask() }
  } catch (error) {
    if (error instanceof EgressError && error.code.startsWith('blocked')) return { end: 'refused' }
    return { end: 'failed', reason: String(error) }
  }
}

interface ProxyClient {
  method: 'GET' | 'CONNECT'
  open(): Socket
  headers: string
}

/** As a program would that takes the address as it is written and leaves it to the proxy to make something of it. */
async function throughProxy(url: string, client: ProxyClient, redirects = 0): Promise<Answered> {
  const authority = /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? ''
  const path = url.replace(/^[a-z]+:\/\/[^/?#]*/i, '') || '/'
  const inner = `GET ${path} HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`
  const target = /:\d+$/.test(authority.replace(/^.*[@\]]/, '')) ? authority : `${authority}:80`
  const request =
    client.method === 'CONNECT'
      ? `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${client.headers}\r\n`
      : `GET ${url} HTTP/1.1\r\nHost: public.test\r\nConnection: close\r\n${client.headers}\r\n`
  const { status, text, location } = await exchange(client.open(), request, client.method === 'CONNECT' ? inner : '')
  if (status === 403 || status === 400 || status === 0) return { end: 'refused' }
  if (status === 302 && redirects < 5) return throughProxy(new URL(location, url).href, client, redirects + 1)
  return status === 200 ? { end: 'answered', text } : { end: 'failed', reason: `${status} ${text}` }
}

/** Sends a request and, once a tunnel stands, the one inside it; reads to the end. */
function exchange(socket: Socket, request: string, inner: string) {
  return new Promise<{ status: number; text: string; location: string }>((resolve) => {
    let received = ''
    let isOpen = inner === ''
    socket.setEncoding('latin1')
    socket.write(request)
    socket.on('data', (chunk: string) => {
      received += chunk
      if (isOpen || !received.startsWith('HTTP/1.1 200') || !received.includes('\r\n\r\n')) return
      isOpen = true
      received = ''
      socket.write(inner)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      const [head = '', ...body] = received.split('\r\n\r\n')
      const location = /^location: (.*)$/im.exec(head)?.[1] ?? ''
      const text = /^transfer-encoding: chunked/im.test(head) ? unchunked(body.join('\r\n\r\n')) : body.join('\r\n\r\n')
      resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0), text, location })
    })
  })
}

function unchunked(body: string): string {
  return body.replace(/^[0-9a-f]+\r\n|\r\n[0-9a-f]+\r\n|\r\n0\r\n\r\n/gi, '').replace(/\r\n0$/, '')
}
