import { afterEach, describe, expect, it } from 'vitest'
import { type ServedFamiliar, serveFamiliar } from '../../../test/security/http-support.ts'
import { createScriptedModel } from '../../../test/support/scripted-model.ts'
import { createMcpBridge, headersOf, type McpBridge, readMessage } from './serve-mcp.ts'

interface Line {
  id?: number | string | null
  method?: string
  result?: Record<string, unknown>
  error?: { code: number; message: string }
  params?: Record<string, unknown>
}

const initialize = {
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
const newer = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
}

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function serve(options: Parameters<typeof serveFamiliar>[0] = {}): Promise<ServedFamiliar> {
  const served = await serveFamiliar({ assets: true, ...options })
  ends.push(served.close)
  await served.call({ method: 'PUT', path: '/api/v1/blocks/plans.md', body: { content: 'one' } })
  return served
}

/** A client at the other end of the pipes. */
function open(places: ServedFamiliar[]) {
  const lines: Line[] = []
  const notes: string[] = []
  const waiting = new Set<() => void>()
  let asked = 0
  const bridge: McpBridge = createMcpBridge({
    async reach() {
      const { server, localToken } = places[Math.min(asked++, places.length - 1)] as ServedFamiliar
      return { url: server.url, credential: localToken }
    },
    untilBack: async () => undefined,
    write(line) {
      lines.push(JSON.parse(line) as Line)
      for (const look of [...waiting]) look()
    },
    note: (line) => void notes.push(line),
    scope: undefined,
  })
  ends.push(bridge.end)

  async function until(fits: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const found = lines.find(fits)
      if (found) return found
      await new Promise<void>((resolve) => {
        const look = () => {
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
      })
    }
  }
  const tell = (message: object) => bridge.take(JSON.stringify({ jsonrpc: '2.0', ...message }))
  let ids = 0
  return {
    lines,
    notes,
    bridge,
    until,
    tell,
    ask(message: object): Promise<Line> {
      ids += 1
      const id = ids
      tell({ id, ...message })
      return until((line) => line.id === id)
    },
  }
}

describe('createMcpBridge', () => {
  it('MCP-1 carries messages of either generation, and answers what is none itself', async () => {
    const { bridge, ask, tell, until, lines } = open([await serve()])
    bridge.take('{"jsonrpc"')
    bridge.take('')
    expect(await until(({ id }) => id === null)).toMatchObject({ error: { code: -32_700 } })
    expect(await ask({ method: 'tools/list' })).toMatchObject({ error: { code: -32_000 } })
    expect(await ask(initialize)).toMatchObject({ result: { protocolVersion: '2025-06-18' } })
    tell({ method: 'notifications/initialized' })
    expect(await ask({ method: 'tools/list' })).toMatchObject({ result: { tools: expect.any(Array) } })
    expect(await ask({ method: 'nothing/such' })).toMatchObject({ error: { code: -32_601 } })
    const discovered = await ask({ method: 'server/discover', params: newer })
    expect(discovered).toMatchObject({ result: { supportedVersions: ['2026-07-28'] } })
    const read = { method: 'resources/read', params: { ...newer, uri: 'familiar:///blocks/plans.md' } }
    expect(await ask(read)).toMatchObject({ result: { contents: [{ text: 'one' }] } })
    await bridge.settled()
    const answered = lines.map(({ id }) => id)
    expect(answered.toSorted()).toEqual([...new Set(answered)].toSorted())
  })

  it('MCP-1 starts again after a restart of Familiar, with all that the client had set up', async () => {
    const [before, after] = [await serve(), await serve()]
    const { ask, tell, until, notes } = open([before, after])
    await ask(initialize)
    tell({ method: 'notifications/initialized' })
    const uri = 'familiar:///blocks/plans.md'
    expect(await ask({ method: 'resources/subscribe', params: { uri } })).toMatchObject({ result: {} })
    await before.server.close(0)
    expect(await ask({ method: 'tools/list' })).toMatchObject({ result: { tools: expect.any(Array) } })
    await after.call({ method: 'PUT', path: '/api/v1/blocks/plans.md', body: { content: 'two' } })
    expect(await until(({ method }) => method === 'notifications/resources/updated')).toMatchObject({ params: { uri } })
    expect(notes).toEqual(['Familiar was restarted; reconnecting'])
  })

  it('MCP-1 tells the client where Familiar went away with a question of theirs, and does not ask twice', async () => {
    const asked = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const model = createScriptedModel({
      async script() {
        asked.resolve()
        await released.promise
        return { text: 'Too late.' }
      },
    })
    const before = await serve({ model })
    const { ask, tell } = open([before, await serve()])
    await ask(initialize)
    tell({ method: 'notifications/initialized' })
    const answer = ask({ method: 'tools/call', params: { name: 'ask', arguments: { message: 'Hello' } } })
    await asked.promise
    await before.server.close(0)
    expect(await answer).toMatchObject({ error: { message: 'Familiar stopped before it answered.' } })
    released.resolve()
  })
})

describe('headersOf', () => {
  it('MCP-1 says in headers what the protocol wants there, whatever letters it has', () => {
    const message = (name: string) =>
      readMessage(JSON.stringify({ id: 1, method: 'tools/call', params: { ...newer, name } }))
    const plain = message('recall')
    expect(plain && headersOf(plain)).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'recall',
    })
    const other = message('grüße\r\nx: y')
    const name = other && headersOf(other)['mcp-name']
    expect(name).toMatch(/^=\?base64\?[\w+/=]+\?=$/)
    expect(Buffer.from(name?.slice(9, -2) ?? '', 'base64').toString()).toBe('grüße\r\nx: y')
    const older = readMessage('{"id":1,"method":"tools/call","params":{"name":"recall"}}')
    expect(older && headersOf(older)).toEqual({})
  })
})
