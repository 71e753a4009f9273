import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from './json.ts'
import { type FakeModel, startFakeModel } from './start-fake-model.ts'

describe('the Ollama wire', () => {
  let server: FakeModel
  beforeEach(async () => {
    server = await startFakeModel({ now: () => 1_700_000_000_000, models: ['llama3.2:1b'] })
  })
  afterEach(() => server.close())

  const chat = (body: JsonObject, init: RequestInit = {}) =>
    fetch(`${server.url}/api/chat`, { method: 'POST', body: JSON.stringify({ model: 'm', ...body }), ...init })
  const hello = { messages: [{ role: 'user', content: 'hello' }] }

  test('streams a document to a line', async () => {
    server.reply({
      thinking: { text: 'hm' },
      text: 'Hello',
      toolCalls: [{ name: 'read', input: { a: 1 } }],
      usage: { input: 9, output: 4 },
      chunkSize: 3,
    })
    const response = await chat(hello)
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    expect(await response.text()).toMatchInlineSnapshot(`
      "{"model":"m","created_at":"2023-11-14T22:13:20.000Z","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}
      {"model":"m","created_at":"2023-11-14T22:13:20.000Z","message":{"role":"assistant","content":"Hel"},"done":false}
      {"model":"m","created_at":"2023-11-14T22:13:20.000Z","message":{"role":"assistant","content":"lo"},"done":false}
      {"model":"m","created_at":"2023-11-14T22:13:20.000Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","function":{"index":0,"name":"read","arguments":{"a":1}}}]},"done":false}
      {"model":"m","created_at":"2023-11-14T22:13:20.000Z","done":true,"done_reason":"stop","total_duration":1000000,"load_duration":0,"prompt_eval_count":9,"prompt_eval_duration":0,"eval_count":4,"eval_duration":1000000,"message":{"role":"assistant","content":""}}
      "
    `)
  })

  test('streams by default, and says why it stopped', async () => {
    server.reply({ text: 'so far', stop: 'max_tokens' })
    const whole: unknown = await (await chat({ ...hello, stream: false })).json()
    expect(whole).toMatchObject({ message: { content: 'so far' }, done: true, done_reason: 'length' })
  })

  test('reads tool results and images', async () => {
    server.respondWith(({ toolResults, messages, system, tools }) => ({
      text: [
        system,
        tools.join(),
        messages[0]?.images,
        toolResults.map(({ id, text }) => `${id}=${text}`).join(),
      ].join(),
    }))
    const response = await chat({
      stream: false,
      tools: [{ type: 'function', function: { name: 'read' } }],
      messages: [
        { role: 'system', content: 'brief' },
        { role: 'user', content: 'go', images: ['AAAA'] },
        { role: 'assistant', content: '', tool_calls: [{ function: { name: 'read', arguments: {} } }] },
        { role: 'tool', content: 'done', tool_name: 'read' },
      ],
    })
    expect(await response.json()).toMatchObject({ message: { content: 'brief,read,1,read=done' } })
  })

  test('errors before and in the stream are one field', async () => {
    server.reply([
      { status: 500, errorMessage: 'model runner has stopped' },
      { text: 'aaaabbbb', chunkSize: 4, errorEventAfterChunks: 1, errorMessage: 'out of memory' },
    ])
    const before = await chat(hello)
    expect([before.status, await before.json()]).toEqual([500, { error: 'model runner has stopped' }])
    const inside = (await (await chat(hello)).text()).trimEnd().split('\n')
    expect(inside.at(-1)).toBe('{"error":"out of memory"}')
  })

  test('a cut ends the body early', async () => {
    server.reply({ text: 'aaaabbbb', chunkSize: 4, cutAfterChunks: 1 })
    const response = await chat(hello)
    await expect(response.text()).rejects.toThrow('terminated')
  })

  test('lone surrogates are replaced, not refused', async () => {
    const response = await chat({ messages: [{ role: 'user', content: 'half \ud83d' }] })
    expect(response.status).toBe(200)
    await response.body?.cancel()
  })

  test('lists its models', async () => {
    const tags: unknown = await (await fetch(`${server.url}/api/tags`)).json()
    expect(tags).toMatchObject({ models: [{ name: 'llama3.2:1b', model: 'llama3.2:1b' }] })
    expect(server.requests).toEqual([])
  })
})
