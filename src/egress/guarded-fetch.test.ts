import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'

const open: { server?: Server; fetch?: GuardedFetch }[] = []
afterEach(async () => {
  for (const { server, fetch } of open.splice(0)) {
    await fetch?.close()
    server?.closeAllConnections()
    server?.close()
  }
})

function guarded(options: GuardedFetchOptions = {}): GuardedFetch {
  const fetch = createGuardedFetch(options)
  open.push({ fetch })
  return fetch
}

type Handler = (incoming: IncomingMessage, response: ServerResponse) => void

interface Listening {
  port: number
  requests: IncomingMessage[]
  connections: () => number
}

async function listen(handler: Handler = (_incoming, response) => response.end('hello')): Promise<Listening> {
  const requests: IncomingMessage[] = []
  let connections = 0
  const server = createServer((incoming, response) => {
    requests.push(incoming)
    handler(incoming, response)
  })
  server.on('connection', () => {
    connections += 1
  })
  open.push({ server })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as { port: number }).port, requests, connections: () => connections }
}

/** Every name leads here, and the guard is told that the address is a public one. */
const resolvesTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

describe('createGuardedFetch', () => {
  it('SEC-8 does not reach a server on this machine that nobody listed', async () => {
    const { port, requests, connections } = await listen()
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433']) {
      await expect(guarded()(`http://${host}:${port}/`)).rejects.toMatchObject({ code: 'blocked_address' })
    }
    expect(requests).toHaveLength(0)
    expect(connections()).toBe(0)
  })

  it('SEC-8 reaches it where it is listed, and only on that port', async () => {
    const { port } = await listen()
    const other = await listen()
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }] })
    const response = await fetch(`http://127.0.0.1:${port}/`)
    expect(await response.text()).toBe('hello')
    await expect(fetch(`http://127.0.0.1:${other.port}/`)).rejects.toMatchObject({ code: 'blocked_address' })
  })

  it('SEC-8 refuses a name as soon as one of its addresses is private', async () => {
    const { port, connections } = await listen()
    for (const addresses of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::1'], ['64:ff9b::7f00:1']]) {
      const fetch = guarded({ resolve: resolvesTo(...addresses) })
      await expect(fetch(`http://rebinding.example:${port}/`)).rejects.toMatchObject({ code: 'blocked_address' })
    }
    await expect(guarded({ resolve: resolvesTo() })('http://nothing.example/')).rejects.toMatchObject({
      code: 'blocked_address',
    })
    expect(connections()).toBe(0)
  })

  it.each([301, 302, 303, 307, 308])('SEC-8 checks where a %i leads', async (status) => {
    const inner = await listen()
    const outer = await listen((_incoming, response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${inner.port}/secret` }).end()
    })
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port: outer.port }] })
    await expect(fetch(`http://127.0.0.1:${outer.port}/`)).rejects.toMatchObject({ code: 'blocked_address' })
    expect(inner.requests).toHaveLength(0)
  })

  it.each(['file:///etc/passwd', 'http://user:pass@127.0.0.1/', 'http://'])(
    'SEC-8 refuses a redirect to %s',
    async (location) => {
      const { port } = await listen((_incoming, response) => response.writeHead(302, { location }).end())
      const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1' }] })
      await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: 'blocked_url' })
    },
  )

  it('SEC-8 follows five redirects and no more', async () => {
    const { port, requests } = await listen((incoming, response) => {
      const count = Number(incoming.url?.slice(1))
      if (count === 0) response.end('arrived')
      else response.writeHead(302, { location: `/${count - 1}` }).end()
    })
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }] })
    expect(await (await fetch(`http://127.0.0.1:${port}/5`)).text()).toBe('arrived')
    requests.length = 0
    await expect(fetch(`http://127.0.0.1:${port}/6`)).rejects.toMatchObject({ code: 'too_many_redirects' })
    expect(requests).toHaveLength(6)
  })

  it('SEC-8 takes no credential along to another origin', async () => {
    const target = await listen()
    const { port } = await listen((_incoming, response) => {
      response.writeHead(307, { location: `http://localhost:${target.port}/` }).end()
    })
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1' }, { host: 'localhost' }] })
    const headers = { authorization: 'Bearer s', 'x-api-key': 's', cookie: 'c=s', accept: 'text/html' }
    await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}', headers })
    expect(target.requests[0]?.method).toBe('POST')
    const sent = target.requests[0]?.headers ?? {}
    expect(sent.accept).toBe('text/html')
    expect([sent.authorization, sent['x-api-key'], sent.cookie]).toEqual([undefined, undefined, undefined])
  })

  it('SEC-8 turns a POST into a GET where the redirect says so', async () => {
    const { port, requests } = await listen((incoming, response) => {
      if (incoming.method === 'POST') response.writeHead(303, { location: '/done' }).end()
      else response.end('done')
    })
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }] })
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' })
    expect(await response.text()).toBe('done')
    expect(response.url).toBe(`http://127.0.0.1:${port}/done`)
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'GET'])
  })

  it('SEC-8 reads no more than the limit, announced or not, packed or not', async () => {
    const { port } = await listen((incoming, response) => {
      if (incoming.url === '/announced') response.writeHead(200, { 'content-length': '2000' }).end('x'.repeat(2_000))
      else if (incoming.url === '/packed') {
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(100_000)))
      } else {
        response.write('x'.repeat(600))
        response.end('x'.repeat(600))
      }
    })
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }], maxBytes: 1_000 })
    await expect(fetch(`http://127.0.0.1:${port}/announced`)).rejects.toMatchObject({ code: 'too_large' })
    for (const path of ['/streamed', '/packed']) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`)
      await expect(response.text()).rejects.toMatchObject({ code: 'too_large' })
    }
  })

  it('SEC-8 gives up after the time limit, also in the middle of a body', async () => {
    const { port } = await listen((incoming, response) => {
      if (incoming.url === '/body') response.write('begins')
    })
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }], timeoutMs: 100 })
    await expect(fetch(`http://127.0.0.1:${port}/head`)).rejects.toMatchObject({ code: 'timeout' })
    const response = await fetch(`http://127.0.0.1:${port}/body`)
    await expect(response.text()).rejects.toMatchObject({ code: 'timeout' })
  })

  it('SEC-8 leaves a stream alone that is allowed to be long', async () => {
    const { port } = await listen((_incoming, response) => {
      response.write('x'.repeat(2_000))
      setTimeout(() => response.end('x'.repeat(2_000)), 150)
    })
    const fetch = guarded({
      allowedHosts: [{ host: '127.0.0.1', port }],
      maxBytes: 1_000,
      timeoutMs: 50,
      streaming: true,
    })
    const response = await fetch(`http://127.0.0.1:${port}/`)
    expect(await response.text()).toHaveLength(4_000)
  })

  it('stops when its caller says so', async () => {
    const { port } = await listen(() => {})
    for (const streaming of [true, false]) {
      const controller = new AbortController()
      const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }], streaming })
      const fetching = fetch(`http://127.0.0.1:${port}/`, { signal: controller.signal })
      setTimeout(() => controller.abort(), 20)
      await expect(fetching).rejects.toMatchObject({ name: 'AbortError' })
    }
  })

  it('takes what fetch takes, and keeps its connection', async () => {
    const { port, requests, connections } = await listen((incoming, response) => incoming.pipe(response))
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }], streaming: true })
    const url = `http://127.0.0.1:${port}/`
    expect(await (await fetch(new URL(url), { method: 'POST', body: 'one' })).text()).toBe('one')
    const request = new Request(url, { method: 'POST', body: 'two', headers: { 'x-test': 'yes' } })
    expect(await (await fetch(request)).text()).toBe('two')
    expect(await (await fetch(url, { method: 'POST', body: new Uint8Array([51]) })).text()).toBe('3')
    expect(requests[1]?.headers['x-test']).toBe('yes')
    for (let calls = 0; calls < 10; calls += 1) await (await fetch(url, { method: 'POST', body: 'again' })).text()
    // A second one opens where a call begins before the last socket is back.
    expect(connections()).toBeLessThanOrEqual(2)
  })
})
