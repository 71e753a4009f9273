import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ServedFamiliar } from '../security/http-support.ts'
import {
  connectMcp,
  type Generation,
  generations,
  type McpTarget,
  type McpTestClient,
} from '../support/mcp/connect-mcp.ts'
import { openRealSandbox } from '../support/real-sandbox.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { greeterFiles, greeterManifest } from '../support/served-capabilities.ts'
import { serveHome } from './serve-home.ts'

const main = fileURLToPath(new URL('../../src/terminal/main.ts', import.meta.url))
const skill = (words: string) => `---\nname: tides\ndescription: Reads tide tables.\n---\n${words}`
const wholeSay = ['recall', 'store', 'forget', 'find_tools', 'run_capability', 'ask']

const real = openRealSandbox()
let home: Awaited<ReturnType<typeof serveHome>>
let served: ServedFamiliar
let userId: string
const clients: McpTestClient[] = []
/** The model answers after this. */
let mayAnswer: Promise<void> = Promise.resolve()

beforeAll(async () => {
  const model = createScriptedModel({
    script: async ({ messages }) => {
      const isAnswered = messages.at(-1)?.role === 'tool'
      if (isAnswered) await mayAnswer
      return isAnswered
        ? { text: 'Looked it up.' }
        : { toolCalls: [{ name: 'recall_memory', input: { query: 'tide' } }] }
    },
  })
  home = await serveHome({ model, assets: true, skills: { tides: skill('Read the table.') }, sandbox: real.sandbox })
  served = home.served
  userId = served.familiar.userId
  await served.capabilities.publish(userId, greeterFiles())
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
})
afterAll(async () => {
  await home.close()
  await real.close()
})

async function client(generation: Generation, way: 'http' | 'stdio', more: string[] = []): Promise<McpTestClient> {
  const target: McpTarget =
    way === 'http'
      ? { url: `${served.server.url}/mcp`, token: served.owner.token }
      : {
          command: process.execPath,
          args: [main, 'mcp', '--home', home.home, ...more],
          env: { PATH: process.env.PATH ?? '', HOME: home.home, TZ: 'UTC' },
        }
  const made = await connectMcp(generation, target)
  clients.push(made)
  return made
}

const putBlock = (label: string, content: string) =>
  served.call({ method: 'PUT', path: `/api/v1/blocks/${label}`, body: { content } })

for (const way of ['http', 'stdio'] as const) {
  for (const generation of generations) {
    describe(`the ${generation} client over ${way}`, () => {
      it('MCP-1 lists and calls tools: remembers, recalls, forgets, finds and runs', async () => {
        const mcp = await client(generation, way)
        expect(mcp.version()).toBe(generation === 'newer' ? '2026-07-28' : '2025-11-25')
        expect((await mcp.tools()).map(({ name }) => name)).toEqual([...wholeSay, 'cap_greeter'])

        const words = `The tide of ${generation} ${way} is at nine.`
        const stored = await mcp.call('store', { kind: 'note', text: words, tags: ['sea'] })
        expect(stored).toMatchObject({ isError: false, data: { is_new: true } })
        const recalled = await mcp.call('recall', { query: words, limit: 1, explain: true })
        expect(recalled.text).toContain(words)
        expect(recalled.data).toMatchObject({ memories: [{ id: stored.data.id, label: 'internal', tags: ['sea'] }] })
        expect(await mcp.read(String(stored.data.uri))).toContain(words)
        const fact = await mcp.call('store', { kind: 'fact', entity: 'Ada', attribute: 'town', value: `${way} Ulm` })
        expect(fact.isError).toBe(false)
        const promise = { kind: 'commitment', what: `mend the ${way} boat`, deadline: '2030-01-02' }
        expect((await mcp.call('store', promise)).isError).toBe(false)

        const forgotten = await mcp.call('forget', { id: `[memory:${stored.data.id}]` })
        expect(forgotten.text).toContain(`familiar memory undo ${forgotten.data.change_id}`)
        expect((await mcp.call('forget', { id: String(stored.data.id) })).isError).toBe(true)

        const found = await mcp.call('find_tools', { query: 'greet somebody' })
        expect(found.data).toMatchObject({ tools: [{ name: 'greeter', input_schema: { required: ['name'] } }] })
        const ran = await mcp.call('run_capability', { name: 'greeter', arguments: { name: 'Ada' } })
        expect(ran).toMatchObject({ isError: false, data: { ok: true, value: 'Hello, Ada!', label: 'internal' } })
        expect((await mcp.call('cap_greeter', { name: 'Bea' })).data).toMatchObject({ value: 'Hello, Bea!' })
        expect(await mcp.call('run_capability', { name: 'greeter' })).toMatchObject({ isError: true })
      })

      it('MCP-1 says something in a session of its own, and hears how far it is', async () => {
        const mcp = await client(generation, way)
        const told: string[] = []
        const said = { message: 'When is the tide?', session: `${generation}-${way}` }
        // Clients drop progress that arrives together with the reply, so the reply waits for it.
        const heard = Promise.withResolvers<void>()
        mayAnswer = heard.promise
        const reply = await mcp.call('ask', said, (line) => {
          told.push(line)
          if (line === 'calls recall_memory') heard.resolve()
        })
        expect(reply).toMatchObject({ text: 'Looked it up.', data: { outcome: 'completed', question: null } })
        expect(told).toContain('calls recall_memory')
        expect(await mcp.read(String(reply.data.session_uri))).toMatch(/When is the tide\?[\s\S]*Looked it up\./)
        const [logged] = await served.familiar.conversations.history(userId, String(reply.data.session_id))
        // Text from a client's model is not the user's own message.
        expect(logged).toMatchObject({ type: 'message_received', label: 'internal', source: 'mcp' })
      })

      it('MCP-1 reads blocks, memories and sessions, completes their names, and has skills as prompts', async () => {
        await putBlock('plans.md', '# Plans\nSail.')
        const mcp = await client(generation, way)
        await mcp.call('store', { kind: 'note', text: 'The harbour closes at ten.' })
        const uris = (await mcp.resources()).map(({ uri }) => uri)
        expect(uris).toContain('familiar:///blocks/plans.md')
        expect(uris.some((uri) => uri.startsWith('familiar:///memories/'))).toBe(true)
        expect(await mcp.read('familiar:///blocks/plans.md')).toBe('# Plans\nSail.')
        expect(await mcp.templates()).toContain('familiar:///memories/{id}')
        expect(await mcp.complete('familiar:///blocks/{+label}', 'label', 'pl')).toEqual(['plans.md'])
        expect(await mcp.prompts()).toEqual(['tides'])
        expect(await mcp.prompt('tides', { request: 'For Husum.' })).toMatch(/^Read the table\.[\s\S]*For Husum\.$/)
        await expect(mcp.prompt('nothing', {})).rejects.toThrow('no prompt')
        await expect(mcp.read('familiar:///memories/none')).rejects.toThrow()
      })

      it('MCP-1 is notified of changes, and of nothing else', async () => {
        const name = `${generation}-${way}.md`
        await putBlock(name, 'one')
        await putBlock('other.md', 'one')
        const mcp = await client(generation, way)
        const stored = await mcp.call('store', { kind: 'note', text: `A note that will change, ${name}.` })
        const [block, memory] = [`familiar:///blocks/${name}`, String(stored.data.uri)]
        await mcp.follow(block, memory)
        await putBlock('other.md', 'two')
        await putBlock(name, 'two')
        await mcp.untilHeard(block)
        const path = `/api/v1/memories/${stored.data.id}`
        await served.call({ method: 'PATCH', path, body: { content: `It has changed, ${name}.` } })
        await mcp.untilHeard(memory)
        const manifest = greeterManifest({ name: `${generation}_${way}` })
        await served.capabilities.publish(userId, greeterFiles({ 'manifest.json': manifest }))
        await mcp.untilHeard('tools')
        await served.capabilities.capabilities.catalog.setEnabled(userId, `${generation}_${way}`, false)
        expect(new Set(mcp.heard)).toEqual(new Set([block, memory, 'tools']))
      })
    })
  }
}
