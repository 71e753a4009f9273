import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { afterEach, describe, expect, it } from 'vitest'
import { type McpScene, openMcp } from '../../../test/support/mcp/mcp-scene.ts'
import { createSdkServer } from '../../../test/support/mcp/sdk-server.ts'
import { waitFor } from '../../../test/support/wait-for.ts'

const open: Server[] = []
let scene: McpScene | undefined
afterEach(async () => {
  await scene?.close()
  scene = undefined
  for (const server of open.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

interface Listening {
  url: string
  port: number
  requests: IncomingMessage[]
}

async function listen(handler: RequestListener): Promise<Listening> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    handler(request, response)
  })
  open.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}/mcp`, port, requests }
}

function listenModern(): Promise<Listening> {
  const handler = createMcpHandler(() => createSdkServer())
  return listen(getRequestListener((request) => handler.fetch(request)))
}

/** The older protocol: `initialize`, a session, a stream for the server's messages. */
function listenWithSessions(): Promise<Listening> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  return listen(
    getRequestListener(async (request) => {
      const known = sessions.get(request.headers.get('mcp-session-id') ?? '')
      if (known) return known.handleRequest(request)
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      })
      await createSdkServer().connect(transport)
      return transport.handleRequest(request)
    }),
  )
}

async function read(request: IncomingMessage): Promise<{ id: unknown; method: string }> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString() || '{}')
}

const tools = [{ name: 'go', description: 'Goes.', inputSchema: { type: 'object' } }]

/** Implements the older protocol by hand, and leaves the response to the test. */
function listenByHand(onCall: (id: unknown, response: ServerResponse) => void, onStream?: RequestListener) {
  return listen(async (request, response) => {
    if (request.method === 'GET' && onStream) return onStream(request, response)
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method } = await read(request)
    const reply = (result: object) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    if (method === 'initialize') {
      const capabilities = { tools: { listChanged: true } }
      return reply({ protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'hand', version: '1' } })
    }
    if (method === 'tools/list') return reply({ tools })
    if (method === 'tools/call') return onCall(id, response)
    if (method === 'server/discover') return response.writeHead(404).end()
    return response.writeHead(202).end()
  })
}

async function openAt(
  url: string,
  options: { headers?: Record<string, string>; callMs?: number; approved?: boolean } = {},
) {
  scene = await openMcp(
    { one: { url, headers: options.headers ?? {} } },
    {
      ...(options.callMs && { callMs: options.callMs }),
      ...(options.approved !== undefined && { approved: options.approved }),
    },
  )
  return scene
}

describe('a server at an address', () => {
  it('TOOL-12 uses the current protocol', async () => {
    const { url } = await listenModern()
    const { inspect, call, tool } = await openAt(url)
    expect(await inspect('one')).toMatchObject({ ok: true, protocolVersion: '2026-07-28' })
    expect(await call('mcp_one_echo', { text: 'hello' })).toMatchObject({ text: 'hello', label: 'untrusted' })
    expect(await call('mcp_one_add_numbers', { a: 1, b: 2 })).toMatchObject({ text: '{"sum":3}' })
    // Its arguments leave this machine, whatever it declares.
    expect(tool('mcp_one_echo').reach({})).toEqual({ kind: 'reach', destination: 'mcp:one', isApproved: true })
  })

  it('TOOL-12 uses the older protocol, with a session; a change switches it off', async () => {
    const { url, requests } = await listenWithSessions()
    const { inspect, call, names, mcp } = await openAt(url)
    expect(await inspect('one')).toMatchObject({ ok: true, protocolVersion: '2025-11-25' })
    expect(await call('mcp_one_echo', { text: 'hello' })).toMatchObject({ text: 'hello' })
    expect(requests.at(-1)?.headers['mcp-session-id']).toBeDefined()
    expect(await call('mcp_one_change')).toMatchObject({ text: 'changed' })
    await waitFor(() => expect(names()).toEqual([]))
    expect(mcp.servers()[0]).toMatchObject({ changes: ['added stolen: Was not there before.'] })
  })

  it('SEC-13 gets its headers, which are not part of the approval or the display', async () => {
    const { url, requests } = await listenModern()
    const { approvals, call, mcp, log } = await openAt(url, { headers: { authorization: 'Bearer s3cret' } })
    expect(await call('mcp_one_echo', { text: 'x' })).toMatchObject({ text: 'x', isPrivate: true })
    for (const { headers } of requests) expect(headers.authorization).toBe('Bearer s3cret')
    expect(JSON.stringify([await approvals.read('one'), mcp.servers(), log])).not.toContain('s3cret')
  })

  it('SEC-6 without access to user data its results are not private', async () => {
    const { url } = await listenModern()
    const { call } = await openAt(url)
    expect(await call('mcp_one_echo', { text: 'x' })).not.toHaveProperty('isPrivate')
  })
})

describe('the way there', () => {
  it('SEC-8 reaches the configured origin, for that server only', async () => {
    const [one, two] = [await listenModern(), await listenModern()]
    const outer = await listen((_request, response) => response.writeHead(307, { location: two.url }).end())
    scene = await openMcp(
      { one: { url: one.url, headers: {} }, moved: { url: outer.url, headers: {} } },
      { approved: false },
    )
    expect(await scene.inspect('one')).toMatchObject({ ok: true })
    expect(await scene.inspect('moved')).toMatchObject({ ok: false })
    expect(two.requests).toEqual([])
  })

  it.each([301, 302, 303, 307, 308])('SEC-8 does not follow a %i to another origin', async (status) => {
    const inner = await listenModern()
    const outer = await listen((_request, response) => response.writeHead(status, { location: inner.url }).end())
    scene = await openMcp(
      { one: { url: outer.url, headers: { authorization: 'Bearer s3cret' } } },
      // Both are listed: the redirect itself is rejected.
      { approved: false, allowedHosts: [{ host: '127.0.0.1' }] },
    )
    expect(await scene.inspect('one')).toMatchObject({ ok: false })
    expect(inner.requests).toEqual([])
  })

  it('SEC-8 follows a redirect to another path of the same origin', async () => {
    const handler = createMcpHandler(() => createSdkServer())
    const serve = getRequestListener((request) => handler.fetch(request))
    const { url } = await listen((request, response) => {
      if (request.url === '/mcp') response.writeHead(308, { location: '/mcp/' }).end()
      else void serve(request, response)
    })
    const { call } = await openAt(url)
    expect(await call('mcp_one_echo', { text: 'x' })).toMatchObject({ text: 'x' })
  })

  it('TOOL-12 an unreachable address is an error', async () => {
    const { url } = await listen((_request, response) => response.writeHead(500).end('broken'))
    const { inspect } = await openAt(url, { approved: false })
    expect(await inspect('one')).toEqual({ ok: false, problem: expect.stringContaining('HTTP 500') })
    for (const server of open.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
    expect(await inspect('one')).toMatchObject({ ok: false })
  })
})

describe('a server at an address that misbehaves', () => {
  it('SEC-18 is aborted if it never answers a call', async () => {
    const { url } = await listenByHand(() => undefined)
    const { call } = await openAt(url, { callMs: 300 })
    expect(await call('mcp_one_go')).toMatchObject({ isError: true, timedOut: true })
  })

  it('SEC-18 is aborted if its response is too large, as JSON or as an event', async () => {
    for (const type of ['application/json', 'text/event-stream']) {
      const { url } = await listenByHand((_id, response) => {
        response.writeHead(200, { 'content-type': type })
        if (type === 'text/event-stream') response.write('data: ')
        const write = () => {
          while (!response.destroyed && response.write('x'.repeat(256 * 1024)));
          if (!response.destroyed) response.once('drain', write)
        }
        write()
      })
      const { call, mcp } = await openAt(url)
      const outcome = await call('mcp_one_go')
      const text = expect.stringContaining('a message of more than 8388608 bytes')
      expect(outcome).toMatchObject({ isError: true, serviceFailed: true, text })
      expect(mcp.servers()[0]?.isConnected).toBe(false)
      await scene?.close()
      scene = undefined
    }
  })

  it('SEC-18 is aborted if it sends too many messages', async () => {
    const { url } = await listenByHand((_id, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const event = 'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n'.repeat(100)
      const write = () => {
        while (!response.destroyed && response.write(event));
        if (!response.destroyed) response.once('drain', write)
      }
      write()
    })
    const { call } = await openAt(url)
    const text = expect.stringContaining('it sends too many messages')
    expect(await call('mcp_one_go')).toMatchObject({ isError: true, serviceFailed: true, text })
  })

  it.each([
    ['no JSON', 'application/json', 'hello'],
    ['no message', 'application/json', '{"hello":1}'],
    ['a page', 'text/html', '<p>hello</p>'],
    ['an empty stream', 'text/event-stream', ''],
  ])('SEC-18 is an error if it answers with %s', async (_what, type, body) => {
    const { url } = await listenByHand((_id, response) => response.writeHead(200, { 'content-type': type }).end(body))
    const { call } = await openAt(url)
    const outcome = await call('mcp_one_go')
    expect(outcome).toMatchObject({ isError: true, label: 'untrusted' })
    expect(outcome).not.toHaveProperty('timedOut')
  })

  it('TOOL-12 is an error if the connection breaks in the middle', async () => {
    const { url } = await listenByHand((_id, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"jsonrpc"', () => response.destroy())
    })
    const { call } = await openAt(url)
    expect(await call('mcp_one_go')).toMatchObject({ isError: true, serviceFailed: true })
  })

  it('SEC-18 is reconnected ever more rarely if it keeps ending its stream', async () => {
    let streams = 0
    const { url } = await listenByHand(
      (id, response) => {
        const result = { content: [{ type: 'text', text: 'went' }] }
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      },
      (_request, response) => {
        streams += 1
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 0\n\n')
      },
    )
    const { call } = await openAt(url)
    await call('mcp_one_go')
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    // At once, after one second, and after two more at the earliest.
    expect(streams).toBeLessThanOrEqual(3)
    expect(await call('mcp_one_go')).toMatchObject({ text: 'went' })
  })
})
