import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { waitFor } from '../../../test/support/wait-for.ts'
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  type OpenedAnswer,
  type OpenInit,
} from './guarded-fetch.ts'

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

/** Every name resolves to this machine, while the guard sees a public address. */
const resolvesTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

/** The lighter request path in the shape of `fetch`: both follow the same rules. */
function guardedOpen(options: GuardedFetchOptions = {}): (url: string, init?: RequestInit) => Promise<Response> {
  const guard = guarded({ ...options, streaming: true })
  return async (url, { method = 'GET', headers, body, signal } = {}) => {
    const answer = await openWith(guard, url, {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      body: typeof body === 'string' ? body : null,
      signal: signal ?? new AbortController().signal,
    })
    return new Response(await textOf(answer), { status: answer.status })
  }
}

function openWith({ open }: GuardedFetch, url: string, init: Partial<OpenInit> = {}): Promise<OpenedAnswer> {
  if (!open) throw new Error('not a streaming guard')
  return open(url, { method: 'GET', headers: {}, signal: new AbortController().signal, ...init })
}

async function textOf(answer: OpenedAnswer): Promise<string> {
  const chunks: Uint8Array[] = []
  for (let bytes = await answer.read(); bytes; bytes = await answer.read()) chunks.push(bytes)
  return Buffer.concat(chunks).toString()
}

const ways = [
  { way: 'fetch', reach: guarded },
  { way: 'open', reach: guardedOpen },
]

describe.each(ways)('requests by $way', ({ way, reach }) => {
  it('SEC-8 does not reach an unlisted server on this machine', async () => {
    const { port, requests, connections } = await listen()
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433']) {
      await expect(reach()(`http://${host}:${port}/`)).rejects.toMatchObject({ code: 'blocked_address' })
    }
    expect(requests).toHaveLength(0)
    expect(connections()).toBe(0)
  })

  it('SEC-8 reaches a listed server, on that port only', async () => {
    const { port } = await listen()
    const other = await listen()
    const fetch = reach({ allowedHosts: [{ host: '127.0.0.1', port }] })
    const response = await fetch(`http://127.0.0.1:${port}/`)
    expect(await response.text()).toBe('hello')
    await expect(fetch(`http://127.0.0.1:${other.port}/`)).rejects.toMatchObject({ code: 'blocked_address' })
  })

  it('SEC-8 rejects a name if one of its addresses is private', async () => {
    const { port, connections } = await listen()
    for (const addresses of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::1'], ['64:ff9b::7f00:1']]) {
      const fetch = reach({ resolve: resolvesTo(...addresses) })
      await expect(fetch(`http://rebinding.example:${port}/`)).rejects.toMatchObject({ code: 'blocked_address' })
    }
    await expect(reach({ resolve: resolvesTo() })('http://nothing.example/')).rejects.toMatchObject({
      code: 'blocked_address',
    })
    expect(connections()).toBe(0)
  })

  it.each([301, 302, 303, 307, 308])('SEC-8 checks where a %i leads', async (status) => {
    const inner = await listen()
    const outer = await listen((_incoming, response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${inner.port}/secret` }).end()
    })
    const fetch = reach({ allowedHosts: [{ host: '127.0.0.1', port: outer.port }] })
    await expect(fetch(`http://127.0.0.1:${outer.port}/`)).rejects.toMatchObject({ code: 'blocked_address' })
    expect(inner.requests).toHaveLength(0)
  })

  it.each(['file:///etc/passwd', 'http://user:pass@127.0.0.1/', 'http://'])(
    'SEC-8 rejects a redirect to %s',
    async (location) => {
      const { port } = await listen((_incoming, response) => response.writeHead(302, { location }).end())
      const fetch = reach({ allowedHosts: [{ host: '127.0.0.1' }] })
      await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: 'blocked_url' })
    },
  )

  it('SEC-8 follows at most five redirects', async () => {
    const { port, requests } = await listen((incoming, response) => {
      const count = Number(incoming.url?.slice(1))
      if (count === 0) response.end('arrived')
      else response.writeHead(302, { location: `/${count - 1}` }).end()
    })
    const fetch = reach({ allowedHosts: [{ host: '127.0.0.1', port }] })
    expect(await (await fetch(`http://127.0.0.1:${port}/5`)).text()).toBe('arrived')
    requests.length = 0
    await expect(fetch(`http://127.0.0.1:${port}/6`)).rejects.toMatchObject({ code: 'too_many_redirects' })
    expect(requests).toHaveLength(6)
  })

  it('SEC-8 sends no credentials to another origin', async () => {
    const target = await listen()
    const { port } = await listen((_incoming, response) => {
      response.writeHead(307, { location: `http://localhost:${target.port}/` }).end()
    })
    const fetch = reach({ allowedHosts: [{ host: '127.0.0.1' }, { host: 'localhost' }] })
    const headers = { authorization: 'Bearer s', 'x-api-key': 's', cookie: 'c=s', accept: 'text/html' }
    await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}', headers })
    expect(target.requests[0]?.method).toBe('POST')
    const sent = target.requests[0]?.headers ?? {}
    expect(sent.accept).toBe('text/html')
    expect([sent.authorization, sent['x-api-key'], sent.cookie]).toEqual([undefined, undefined, undefined])
  })

  it('SEC-8 turns a POST into a GET if the redirect says so', async () => {
    const { port, requests } = await listen((incoming, response) => {
      if (incoming.method === 'POST') response.writeHead(303, { location: '/done' }).end()
      else response.end('done')
    })
    const fetch = reach({ allowedHosts: [{ host: '127.0.0.1', port }] })
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' })
    expect(await response.text()).toBe('done')
    if (way === 'fetch') expect(response.url).toBe(`http://127.0.0.1:${port}/done`)
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /', 'GET /done'])
  })

  it('stops when the caller aborts, even before the start', async () => {
    const { port, connections } = await listen(() => {})
    const fetch = reach({ allowedHosts: [{ host: '127.0.0.1', port }] })
    await expect(fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    })
    expect(connections()).toBe(0)
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 20)
    await expect(fetch(`http://127.0.0.1:${port}/`, { signal: controller.signal })).rejects.toMatchObject({
      name: 'AbortError',
    })
  })
})

describe('GuardedFetch.open', () => {
  const listed = (port: number) => guarded({ allowedHosts: [{ host: '127.0.0.1', port }], streaming: true })

  it('SEC-8 exists only if that skips no size or time limit', () => {
    expect(guarded().open).toBeUndefined()
    expect(guarded({ streaming: true }).open).toBeDefined()
  })

  it('sends its input, and reuses its connection', async () => {
    const { port, requests, connections } = await listen((incoming, response) => {
      response.writeHead(201, { 'x-two': ['a', 'b'] })
      incoming.pipe(response)
    })
    const guard = listed(port)
    for (let calls = 0; calls < 10; calls += 1) {
      const init = { method: 'POST', headers: { 'x-test': 'yes' }, body: 'Grüße' }
      const answer = await openWith(guard, `http://127.0.0.1:${port}/a?b=c`, init)
      expect(answer).toMatchObject({ status: 201, statusText: 'Created', headers: { 'x-two': 'a, b' } })
      expect(await textOf(answer)).toBe('Grüße')
    }
    expect(requests[0]).toMatchObject({ method: 'POST', url: '/a?b=c' })
    expect(requests[0]?.headers).toMatchObject({ 'x-test': 'yes', 'accept-encoding': 'identity' })
    expect(connections()).toBeLessThanOrEqual(2)
  })

  it('makes a server wait for a slow reader, and loses nothing', async () => {
    let written = 0
    const { port } = await listen((_incoming, response) => {
      const write = () => {
        while (written < 400) {
          written += 1
          if (!response.write('x'.repeat(64 * 1024))) return response.once('drain', write)
        }
        return response.end()
      }
      write()
    })
    const answer = await openWith(listed(port), `http://127.0.0.1:${port}/`)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(written).toBeLessThan(400)
    expect(await textOf(answer)).toHaveLength(400 * 64 * 1024)
  })

  it.each(['abort', 'cancel'])('closes the connection of a running response on %s', async (how) => {
    let closed = false
    const { port } = await listen((_incoming, response) => {
      response.write('begins')
      response.on('close', () => {
        closed = true
      })
    })
    const controller = new AbortController()
    const answer = await openWith(listed(port), `http://127.0.0.1:${port}/`, { signal: controller.signal })
    expect(Buffer.from((await answer.read()) ?? []).toString()).toBe('begins')
    const reading = answer.read()
    if (how === 'abort') controller.abort()
    else answer.cancel()
    await expect(reading).rejects.toThrow(how === 'abort' ? 'aborted' : 'The reader stopped')
    await waitFor(() => expect(closed).toBe(true))
  })

  it('reports a broken connection and an unreadable response', async () => {
    const { port } = await listen((incoming, response) => {
      if (incoming.url === '/packed') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'))
      else response.write('begins', () => response.destroy())
    })
    const guard = listed(port)
    await expect(openWith(guard, `http://127.0.0.1:${port}/packed`)).rejects.toThrow('compressed (gzip)')
    const answer = await openWith(guard, `http://127.0.0.1:${port}/`)
    await expect(textOf(answer)).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' })
  })
})

describe('createGuardedFetch', () => {
  it('SEC-8 reads no more than the limit, announced or not, compressed or not', async () => {
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

  it('SEC-8 aborts after the time limit, even in the middle of a body', async () => {
    const { port } = await listen((incoming, response) => {
      if (incoming.url === '/body') response.write('begins')
    })
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }], timeoutMs: 100 })
    await expect(fetch(`http://127.0.0.1:${port}/head`)).rejects.toMatchObject({ code: 'timeout' })
    const response = await fetch(`http://127.0.0.1:${port}/body`)
    await expect(response.text()).rejects.toMatchObject({ code: 'timeout' })
  })

  it('SEC-8 does not limit a stream that may be long', async () => {
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

  it('stops when the caller aborts', async () => {
    const { port } = await listen(() => {})
    for (const streaming of [true, false]) {
      const controller = new AbortController()
      const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }], streaming })
      const fetching = fetch(`http://127.0.0.1:${port}/`, { signal: controller.signal })
      setTimeout(() => controller.abort(), 20)
      await expect(fetching).rejects.toMatchObject({ name: 'AbortError' })
    }
  })

  it('leaves a redirect to a caller that asks for it', async () => {
    const { port, requests } = await listen((_incoming, response) =>
      response.writeHead(307, { location: '/next' }).end(),
    )
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }], streaming: true })
    const response = await fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' })
    expect([response.status, response.headers.get('location'), requests.length]).toEqual([307, '/next', 1])
  })

  it('accepts the arguments of fetch, and reuses its connection', async () => {
    const { port, requests, connections } = await listen((incoming, response) => incoming.pipe(response))
    const fetch = guarded({ allowedHosts: [{ host: '127.0.0.1', port }], streaming: true })
    const url = `http://127.0.0.1:${port}/`
    expect(await (await fetch(new URL(url), { method: 'POST', body: 'one' })).text()).toBe('one')
    const request = new Request(url, { method: 'POST', body: 'two', headers: { 'x-test': 'yes' } })
    expect(await (await fetch(request)).text()).toBe('two')
    expect(await (await fetch(url, { method: 'POST', body: new Uint8Array([51]) })).text()).toBe('3')
    expect(requests[1]?.headers['x-test']).toBe('yes')
    for (let calls = 0; calls < 10; calls += 1) await (await fetch(url, { method: 'POST', body: 'again' })).text()
    // A second connection opens if a call starts before the last socket is back.
    expect(connections()).toBeLessThanOrEqual(2)
  })
})
