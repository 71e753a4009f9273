import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from './json.ts'
import { readRequestsFile } from './requests-file.ts'
import { type FakeModel, startFakeModel } from './start-fake-model.ts'

const HEADERS = { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' }

function ask(server: FakeModel, text = 'hi', init: RequestInit = {}): Promise<Response> {
  const body = JSON.stringify({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: text }] })
  return fetch(`${server.url}/v1/messages`, { method: 'POST', headers: HEADERS, body, ...init })
}

async function answer(server: FakeModel, text?: string): Promise<string | undefined> {
  const response = await ask(server, text)
  const { content } = (await response.json()) as { content: { text: string }[] }
  return content[0]?.text
}

describe('startFakeModel', () => {
  let server: FakeModel
  beforeEach(async () => {
    server = await startFakeModel({ models: ['one', 'two'] })
  })
  afterEach(() => server.close())

  test('plays the queue first, then asks the responder, then repeats the user', async () => {
    server.respondWith(({ lastUserText }) => (lastUserText === 'decide' ? { text: 'decided' } : undefined))
    server.reply([{ text: 'first' }, { text: 'second' }])
    server.reply({ text: 'third' })
    const texts = [await answer(server), await answer(server), await answer(server, 'decide')]
    expect(texts).toEqual(['first', 'second', 'third'])
    expect([await answer(server, 'decide'), await answer(server, 'else')]).toEqual(['decided', 'echo: else'])
  })

  test('shows the responder the messages, with any wire format', async () => {
    const seen: unknown[] = []
    server.respondWith(({ wire, model, stream, system, messages, tools, lastUserText, toolResults }) => {
      seen.push({ wire, model, stream, system, messages, tools, lastUserText, toolResults })
      return { text: 'ok' }
    })
    const anthropic = {
      model: 'm',
      max_tokens: 10,
      system: 'brief',
      tools: [{ name: 'read', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read', input: { x: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'done' }] },
      ],
    }
    const calls = [{ id: 'a', type: 'function', function: { name: 'read', arguments: '{"x":1}' } }]
    const chat = {
      model: 'm',
      tools: [{ type: 'function', function: { name: 'read' } }],
      messages: [
        { role: 'system', content: 'brief' },
        { role: 'user', content: 'go' },
        { role: 'assistant', content: null, tool_calls: calls },
        { role: 'tool', tool_call_id: 'a', content: 'done' },
      ],
    }
    const responses = {
      model: 'm',
      instructions: 'brief',
      tools: [{ type: 'function', name: 'read' }],
      input: [
        { role: 'user', content: 'go' },
        { type: 'function_call', call_id: 'a', name: 'read', arguments: '{"x":1}' },
        { type: 'function_call_output', call_id: 'a', output: 'done' },
      ],
    }
    const google = {
      systemInstruction: { parts: [{ text: 'brief' }] },
      tools: [{ functionDeclarations: [{ name: 'read' }] }],
      contents: [
        { role: 'user', parts: [{ text: 'go' }] },
        { role: 'model', parts: [{ functionCall: { id: 'a', name: 'read', args: { x: 1 } } }] },
        { role: 'user', parts: [{ functionResponse: { id: 'a', name: 'read', response: { content: 'done' } } }] },
      ],
    }
    const ollama = {
      model: 'm',
      stream: false,
      tools: [{ type: 'function', function: { name: 'read' } }],
      messages: [
        { role: 'system', content: 'brief' },
        { role: 'user', content: 'go' },
        { role: 'assistant', content: '', tool_calls: [{ id: 'a', function: { name: 'read', arguments: { x: 1 } } }] },
        { role: 'tool', content: 'done', tool_call_id: 'a' },
      ],
    }
    const wires: [string, JsonObject][] = [
      ['/v1/messages', anthropic],
      ['/v1/chat/completions', chat],
      ['/v1/responses', responses],
      ['/v1beta/models/m:generateContent', google],
      ['/api/chat', ollama],
    ]
    for (const [path, body] of wires) {
      const headers = { ...HEADERS, authorization: 'Bearer key' }
      const response = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      expect(response.status).toBe(200)
      await response.arrayBuffer()
    }
    const nothing = { text: '', images: 0, toolCalls: [], toolResults: [] }
    const results = [{ id: 'a', text: 'done', isError: false }]
    const said = {
      model: 'm',
      stream: false,
      system: 'brief',
      messages: [
        { ...nothing, role: 'user', text: 'go' },
        { ...nothing, role: 'assistant', toolCalls: [{ id: 'a', name: 'read', input: { x: 1 } }] },
        { ...nothing, role: 'user', toolResults: results },
      ],
      tools: ['read'],
      lastUserText: 'go',
      toolResults: results,
    }
    const names = ['anthropic', 'openai-chat', 'openai-responses', 'google', 'ollama']
    expect(seen).toEqual(names.map((wire) => ({ wire, ...said })))
  })

  test('records its requests', async () => {
    await answer(server, 'hello')
    expect(server.requests).toMatchObject([
      {
        n: 1,
        wire: 'anthropic',
        path: '/v1/messages',
        headers: { 'x-api-key': 'key' },
        body: { messages: [{ content: 'hello' }] },
        status: 200,
        aborted: false,
      },
    ])
    expect(JSON.parse(server.requests[0]?.bytes ?? '')).toEqual(server.requests[0]?.body)
  })

  test('numbers tool calls and signatures in order', async () => {
    server.reply([
      { thinking: { text: 'a' }, toolCalls: [{ name: 'read' }, { name: 'read' }] },
      { thinking: { text: 'b' }, toolCalls: [{ name: 'read' }] },
    ])
    const documents = [await (await ask(server)).json(), await (await ask(server)).json()] as {
      content: JsonObject[]
    }[]
    expect(documents.flatMap(({ content }) => content.map(({ id, signature }) => id ?? signature))).toEqual([
      'sig_1',
      'toolu_1',
      'toolu_2',
      'sig_2',
      'toolu_3',
    ])
  })

  test('counts the calls in flight', async () => {
    server.reply([{ hang: true }, { hang: true }, { hang: true }])
    const controller = new AbortController()
    const asked = Promise.allSettled([1, 2, 3].map(() => ask(server, 'hi', { signal: controller.signal })))
    await server.until(() => server.requests.length === 3)
    expect(server.stats()).toMatchObject({ inFlight: 3, peakInFlight: 3 })
    controller.abort()
    await asked
    await server.until(() => server.stats().inFlight === 0)
    await answer(server)
    expect(server.stats()).toMatchObject({ requests: 4, rejected: 0, aborted: 3, inFlight: 0, peakInFlight: 3 })
    expect(await (await fetch(`${server.url}/fake/stats`)).json()).toEqual(server.stats())
  })

  test('a delay is a delay', async () => {
    server.reply({ text: 'late', delayMs: 60 })
    const started = performance.now()
    await answer(server)
    expect(performance.now() - started).toBeGreaterThanOrEqual(55)
  })

  test('a delay between chunks keeps them apart', async () => {
    server.reply({ text: 'aabb', chunkSize: 2, chunkDelayMs: 20 })
    const body = JSON.stringify({ model: 'm', max_tokens: 1, stream: true, messages: [{ role: 'user', content: 'x' }] })
    const response = await ask(server, '', { body })
    let reads = 0
    for await (const _ of response.body ?? []) reads += 1
    expect(reads).toBeGreaterThan(2)
  })

  test.each([
    ['no JSON', '{"model":', 'not valid JSON'],
    ['no object', '[]', 'not a JSON object'],
    ['half a character', '{"model":"\\ud83d"}', 'surrogate'],
    ['half a character in a key', '{"\\udc00":1}', 'surrogate'],
    ['bytes that are no text', new Uint8Array([0x22, 0xff, 0x22]), 'not valid UTF-8'],
  ])('refuses %s in the words of the wire', async (_, body, words) => {
    const response = await ask(server, '', { body })
    expect(response.status).toBe(400)
    const error: unknown = await response.json()
    expect(error).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
    expect(server.rejections()[0]?.rejection).toContain(words)
  })

  test('a whole character written as two escapes is fine', async () => {
    const body = '{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"\\ud83d\\udc08"}]}'
    expect((await ask(server, '', { body })).status).toBe(200)
  })

  test('lists its models in the words of each wire', async () => {
    const openai: unknown = await (await fetch(`${server.url}/v1/models`)).json()
    const anthropic: unknown = await (await fetch(`${server.url}/v1/models`, { headers: HEADERS })).json()
    expect(openai).toMatchObject({ object: 'list', data: [{ id: 'one', object: 'model' }, { id: 'two' }] })
    expect(anthropic).toMatchObject({ data: [{ type: 'model', id: 'one' }, { id: 'two' }], has_more: false })
  })

  test('knows no other endpoint', async () => {
    expect((await fetch(`${server.url}/v1/other`, { method: 'POST', body: '{}' })).status).toBe(404)
    expect((await fetch(`${server.url}/v1/messages`)).status).toBe(404)
    expect(server.requests).toEqual([])
  })

  test('a responder that fails is a 500 that says so', async () => {
    server.respondWith(() => {
      throw new Error('no idea')
    })
    const response = await ask(server)
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('no idea')])
  })

  test('closing ends what hangs without blaming the client', async () => {
    server.reply({ hang: true })
    const asked = ask(server)
    asked.catch(() => {})
    await server.until(() => server.requests.length === 1)
    await server.close()
    await expect(asked).rejects.toThrow('fetch failed')
    expect(server.requests[0]?.aborted).toBe(false)
    server = await startFakeModel()
  })
})

describe('the requests file', () => {
  test('has a line for every request, the refused ones too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fake-model-'))
    const requestsFile = join(folder, 'requests.jsonl')
    const server = await startFakeModel({ requestsFile, keepRequests: false })
    await answer(server, 'hello')
    await ask(server, ' ')
    const read = readRequestsFile(requestsFile)
    expect(read).toMatchObject([
      { n: 1, wire: 'anthropic', body: { messages: [{ content: 'hello' }] } },
      { n: 2, rejection: expect.stringContaining('non-whitespace') },
    ])
    expect(server.requests).toEqual([])
    await server.close()
    rmSync(folder, { recursive: true })
  })
})
