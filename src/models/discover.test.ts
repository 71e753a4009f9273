import { createServer, type Server } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { discoverProviders } from './discover.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

const nobody: typeof fetch = () => Promise.reject(new Error('connection refused'))

/** Replaces the machine's ports: every local address leads to this server or to nothing. */
async function machineWith(answers: Record<string, unknown>): Promise<typeof fetch> {
  const server = createServer((incoming, response) => {
    const answer = answers[incoming.url ?? '']
    if (answer === 'hang') return
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? {}))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return (input, init) => {
    const url = new URL(String(input))
    return fetch(`http://127.0.0.1:${port}/${url.port}${url.pathname}`, init)
  }
}

describe('discoverProviders', () => {
  it('finds nothing if there is nothing', async () => {
    expect(await discoverProviders({ env: { ANTHROPIC_API_KEY: ' ' }, fetch: nobody })).toEqual([])
  })

  it('finds the keys of the environment, in order of preference', async () => {
    const env = { OPENROUTER_API_KEY: 'or', GEMINI_API_KEY: 'g', ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o' }
    const found = await discoverProviders({ env, fetch: nobody })
    expect(found.map(({ name, apiKey }) => [name, apiKey])).toEqual([
      ['anthropic', 'a'],
      ['openai', 'o'],
      ['google', 'g'],
      ['openrouter', 'or'],
    ])
    for (const { models } of found) expect(models.main?.costPerMtok?.length).toBeGreaterThanOrEqual(2)
  })

  it('COST-1 leaves a model without a known price unpriced', async () => {
    const [found] = await discoverProviders({ env: { MISTRAL_API_KEY: 'm' }, fetch: nobody })
    expect(found).toMatchObject({ name: 'mistral', models: { main: { costPerMtok: null } } })
  })

  it('finds the servers on this machine and one of their chat models', async () => {
    const fetch = await machineWith({
      '/11434/api/tags': { models: [{ name: 'nomic-embed-text:latest' }, { name: 'qwen3:8b' }] },
      '/11434/api/show': {
        capabilities: ['completion', 'tools', 'vision'],
        model_info: { 'qwen3.context_length': 16_384 },
      },
      '/1234/v1/models': { data: [{ id: 'text-embedding-nomic' }, { id: 'gemma-3-4b' }] },
      '/8080/v1/models': { data: [{ id: 'model.gguf', owned_by: 'llamacpp' }] },
    })
    expect(await discoverProviders({ env: {}, fetch })).toMatchObject([
      {
        name: 'ollama',
        type: 'ollama',
        models: { main: { model: 'qwen3:8b', supportsVision: true, maxContextTokens: 16_384, costPerMtok: [0, 0] } },
      },
      { name: 'lmstudio', type: 'openai-compatible', models: { main: { model: 'gemma-3-4b' } } },
      { name: 'llamacpp', type: 'openai-compatible', models: { main: { model: 'model.gguf' } } },
    ])
  })

  it('accepts no other server as a model server, and does not wait for any', async () => {
    const fetch = await machineWith({
      '/11434/api/tags': 'hang',
      '/1234/v1/models': { data: 'nonsense' },
      '/8080/v1/models': { data: [{ id: 'something', owned_by: 'somebody' }] },
    })
    expect(await discoverProviders({ env: {}, fetch })).toEqual([])
  })
})
