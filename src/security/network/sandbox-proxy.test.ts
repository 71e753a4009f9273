import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import {
  createSandboxProxy,
  type ProxiedRun,
  type ProxyLimits,
  type RunProxy,
  type SandboxProxy,
} from './sandbox-proxy.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'fp-'))
  closers.push(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

interface Site {
  host: string
  port: number
  requests: IncomingMessage[]
  connections(): number
}

async function openSite(
  answer: Parameters<typeof createServer>[1] = (_incoming, response) => response.end('hello'),
): Promise<Site> {
  const requests: IncomingMessage[] = []
  let connections = 0
  const server = createServer((incoming, response) => {
    requests.push(incoming)
    answer?.(incoming, response)
  })
  server.on('connection', () => {
    connections += 1
  })
  const port = await listen(server)
  return { host: `127.0.0.1:${port}`, port, requests, connections: () => connections }
}

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

interface Opened extends RunProxy {
  proxies: SandboxProxy
  directory: string
}

/** These servers of this machine are listed by the owner and declared by the tool. */
async function openProxy(
  sites: readonly { port: number }[],
  options: Partial<ProxiedRun> & { limits?: Partial<ProxyLimits> } = {},
): Promise<Opened> {
  const { limits, ...run } = options
  const directory = newDirectory()
  const proxies = createSandboxProxy({
    directory,
    logger: silentLogger,
    listedHosts: () => sites.map(({ port }) => ({ host: '127.0.0.1', port })),
    ...(limits && { limits }),
  })
  closers.push(proxies.close)
  const hosts = sites.map(({ port }) => `127.0.0.1:${port}`)
  return { ...(await proxies.open({ hosts, tool: 'weather', ...run })), proxies, directory }
}

interface Answer {
  status: number
  text: string
  headers: IncomingMessage['headers']
}

function ask({ socketPath }: RunProxy, url: string, options: { method?: string; body?: string } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { host: 'elsewhere.example', 'x-test': 'yes', 'proxy-connection': 'keep-alive' }
    const sent = request(
      { socketPath, path: url, method: options.method ?? 'GET', headers, agent: false },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers }))
        answer.on('error', reject)
      },
    )
    sent.on('error', reject).end(options.body)
  })
}

/** An open tunnel, or the proxy's response. */
function tunnel({ socketPath }: RunProxy, target: string): Promise<Socket | Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, method: 'CONNECT', path: target, agent: false })
    sent.on('connect', (answer, socket, head) => {
      if (answer.statusCode === 200) return resolve(socket)
      let text = head.toString()
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('end', () => resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers }))
    })
    sent.on('error', reject).end()
  })
}

const closed = (socket: Socket) =>
  new Promise<void>((resolve) => {
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    socket.resume()
  })

describe('createSandboxProxy', () => {
  it('SEC-8 forwards a plain request to a declared host unchanged', async () => {
    const site = await openSite((incoming, response) => {
      response.writeHead(201, { 'x-two': ['a', 'b'] })
      incoming.pipe(response)
    })
    const proxy = await openProxy([site])
    const answer = await ask(proxy, `http://${site.host}/path?query=1`, { method: 'POST', body: 'Grüße' })
    expect(answer).toMatchObject({ status: 201, text: 'Grüße', headers: { 'x-two': 'a, b' } })
    expect(site.requests[0]).toMatchObject({ method: 'POST', url: '/path?query=1' })
    // The Host header is that of the address: an allowed server must not serve another site behind it.
    expect(site.requests[0]?.headers).toMatchObject({ host: site.host, 'x-test': 'yes' })
    expect(site.requests[0]?.headers).not.toHaveProperty('proxy-connection')
  })

  it('SEC-8 tunnels to a declared host', async () => {
    const echo = createTcpServer((socket) => socket.pipe(socket))
    const port = await listen(echo)
    const proxy = await openProxy([{ port }])
    const socket = (await tunnel(proxy, `127.0.0.1:${port}`)) as Socket
    const data = Buffer.alloc(300_000, 'x')
    socket.end(data)
    let received = 0
    for await (const chunk of socket) received += (chunk as Buffer).length
    expect(received).toBe(data.length)
  })

  it('SEC-8 rejects everything else, and says which host and what its owner can do', async () => {
    const site = await openSite()
    const told: string[] = []
    const proxy = await openProxy([site], { hosts: ['example.com'], onRefused: (host) => told.push(host) })
    const plain = await ask(proxy, 'http://other.example/')
    expect(plain.status).toBe(403)
    expect(plain.text).toMatch(/other\.example:80 .* familiar tools allow weather other\.example\n/)
    const tunnelled = (await tunnel(proxy, 'other.example:8443')) as Answer
    expect(tunnelled.status).toBe(403)
    expect(tunnelled.text).toContain('familiar tools allow weather other.example:8443\n')
    // Listed by the owner, but not declared by the tool.
    expect((await ask(proxy, `http://${site.host}/`)).status).toBe(403)
    expect(((await tunnel(proxy, site.host)) as Answer).status).toBe(403)
    expect(proxy.refused()).toEqual(['other.example', '127.0.0.1'])
    expect(told).toEqual(['other.example', '127.0.0.1'])
    expect(site.connections()).toBe(0)
  })

  it('SEC-8 a declaration does not replace a listing', async () => {
    const site = await openSite()
    const proxies = createSandboxProxy({ directory: newDirectory(), logger: silentLogger })
    closers.push(proxies.close)
    const proxy = await proxies.open({ hosts: [site.host, `localhost:${site.port}`], tool: 'weather' })
    for (const host of [site.host, `localhost:${site.port}`]) {
      const answer = await ask(proxy, `http://${host}/`)
      expect(answer.status).toBe(403)
      expect(answer.text).toContain('egress.allowed_hosts')
      expect(((await tunnel(proxy, host)) as Answer).status).toBe(403)
    }
    expect(site.connections()).toBe(0)
  })

  it('SEC-8 opens nothing for a declaration that is not a host', async () => {
    await expect(openProxy([], { hosts: ['*'] })).rejects.toMatchObject({ code: 'blocked_url' })
  })

  it('reports that a host cannot be reached', async () => {
    const free = createTcpServer()
    const port = await listen(free)
    await new Promise((resolve) => free.close(resolve))
    const proxy = await openProxy([{ port }])
    expect(await ask(proxy, `http://127.0.0.1:${port}/`)).toMatchObject({
      status: 502,
      text: `127.0.0.1:${port} could not be reached (ECONNREFUSED).\n`,
    })
    expect(((await tunnel(proxy, `127.0.0.1:${port}`)) as Answer).status).toBe(502)
    expect(proxy.refused()).toEqual([])
  })

  it('SEC-8 aborts a name lookup that takes too long', async () => {
    const proxies = createSandboxProxy({
      directory: newDirectory(),
      logger: silentLogger,
      resolve: () => new Promise(() => {}),
      limits: { connectMs: 50 },
    })
    closers.push(proxies.close)
    const proxy = await proxies.open({ hosts: ['slow.example'], tool: 'weather' })
    expect((await ask(proxy, 'http://slow.example/')).status).toBe(504)
    expect(((await tunnel(proxy, 'slow.example:443')) as Answer).status).toBe(504)
  })

  it('SEC-18 ends everything once too many bytes have passed, in either direction', async () => {
    const sink = createTcpServer((socket) => socket.resume().on('error', () => {}))
    const source = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.write(Buffer.alloc(400_000))
    })
    const sites = [{ port: await listen(sink) }, { port: await listen(source) }]
    const proxy = await openProxy(sites, { limits: { bytes: 100_000 } })
    for (const { port } of sites) {
      const socket = (await tunnel(proxy, `127.0.0.1:${port}`)) as Socket
      socket.write(Buffer.alloc(200_000))
      await closed(socket)
    }
  })

  it('SEC-18 ends idle connections', async () => {
    const quiet = createTcpServer(() => {})
    const port = await listen(quiet)
    const site = await openSite(() => {})
    const proxy = await openProxy([{ port }, site], { limits: { idleMs: 50 } })
    await closed((await tunnel(proxy, `127.0.0.1:${port}`)) as Socket)
    await closed(connect(proxy.socketPath))
    await expect(ask(proxy, `http://${site.host}/`)).rejects.toThrow('socket hang up')
  })

  it('SEC-18 limits the number of connections and the size of headers', async () => {
    const proxy = await openProxy([], { limits: { connections: 2, headerBytes: 2_000 } })
    const held = [connect(proxy.socketPath), connect(proxy.socketPath)]
    await Promise.all(held.map((socket) => new Promise((resolve) => socket.on('connect', resolve))))
    const third = connect(proxy.socketPath)
    let told = ''
    third.on('data', (chunk) => {
      told += chunk
    })
    await closed(third)
    // Dropped at once, without a response.
    expect(told).toBe('')
    const [first] = held
    if (!first) throw new Error('None')
    let answer = ''
    first.on('data', (chunk) => {
      answer += chunk
    })
    first.write(`GET http://example.com/ HTTP/1.1\r\nX-Long: ${'x'.repeat(3_000)}\r\n\r\n`)
    await closed(first)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  })

  it('SEC-8 forwards a body as one body, whatever the method', async () => {
    const bodies: string[] = []
    const site = await openSite((incoming, response) => {
      let body = ''
      incoming.on('data', (chunk) => {
        body += chunk
      })
      incoming.on('end', () => {
        bodies.push(body)
        response.end('done')
      })
    })
    const proxy = await openProxy([site])
    const inner = `GET /second HTTP/1.1\r\nHost: other\r\n\r\n`
    const socket = connect(proxy.socketPath)
    socket.write(
      `GET http://${site.host}/first HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n` +
        `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`,
    )
    await closed(socket)
    expect(site.requests.map(({ url }) => url)).toEqual(['/first'])
    expect(bodies).toEqual([inner])
  })

  it('SEC-8 survives any client input, and reaches nothing by it', async () => {
    const site = await openSite()
    const proxy = await openProxy([site], { hosts: ['example.invalid'] })
    const line = fc.oneof(
      fc.constantFrom('GET ', 'CONNECT ', 'POST http://', ' HTTP/1.1\r\n', '\r\n\r\n', '\r\n', 'Host: ', '\0', '\n'),
      fc.constantFrom(
        site.host,
        `http://${site.host}/`,
        'Content-Length: -1',
        'Transfer-Encoding: chunked',
        'Upgrade: x',
      ),
      fc.string({ unit: 'binary' }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 12 }), fc.boolean(), async (pieces, leaves) => {
        const socket = connect(proxy.socketPath)
        const isClosed = closed(socket)
        for (const piece of pieces) socket.write(piece)
        if (leaves) socket.destroy()
        else socket.end()
        await isClosed
      }),
      { numRuns: 100 },
    )
    expect(site.connections()).toBe(0)
    expect((await ask(proxy, 'http://still.example/')).status).toBe(403)
  })
})

describe('the socket of a run', () => {
  it('SEC-12 is accessible to its owner only, in a private folder', async () => {
    const proxy = await openProxy([])
    expect(statSync(proxy.socketPath).mode & 0o777).toBe(0o600)
    expect(statSync(join(proxy.directory, 'proxy')).mode & 0o777).toBe(0o700)
  })

  it('is removed with the run, however it ends', async () => {
    const aborted = new AbortController()
    const proxy = await openProxy([], { signal: aborted.signal })
    const second = await proxy.proxies.open({ hosts: [], tool: 'other' })
    const held = connect(second.socketPath)
    expect(second.socketPath).not.toBe(proxy.socketPath)
    aborted.abort()
    await proxy.close()
    expect(existsSync(proxy.socketPath)).toBe(false)
    expect(existsSync(second.socketPath)).toBe(true)
    const ended = closed(held)
    await Promise.all([second.close(), second.close()])
    await ended
    expect(readdirSync(join(proxy.directory, 'proxy'))).toEqual([])
    await proxy.proxies.close()
    expect(readdirSync(proxy.directory)).toEqual([])
  })

  it('is not opened for a run that has ended', async () => {
    await expect(openProxy([], { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('explains what to do if its path is too long for the kernel', async () => {
    const directory = join(newDirectory(), 'x'.repeat(100))
    const proxies = createSandboxProxy({ directory, logger: silentLogger })
    closers.push(proxies.close)
    await expect(proxies.open({ hosts: [], tool: 'weather' })).rejects.toThrow(
      /socket path .* is too long.*FAMILIAR_HOME/,
    )
  })
})
