import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { createEmbedder, type Embedder, type EmbeddingSettings, ollamaWire, openaiWire } from './embedders.ts'

interface Answer {
  status?: number
  headers?: Record<string, string>
  body: unknown
}

let server: Server
let clock: ManualClock
let embedder: Embedder | undefined
let requests: { url: string | undefined; headers: IncomingHttpHeaders; body: { model: string; input: string[] } }[]
let answer: (input: string[], count: number) => Answer

beforeEach(async () => {
  clock = createManualClock()
  requests = []
  answer = (input) => ({ body: openaiAnswer(input) })
  server = createServer(async (request, response) => {
    const body = JSON.parse(await readText(request))
    requests.push({ url: request.url, headers: request.headers, body })
    const { status = 200, headers = {}, body: sent } = answer(body.input, requests.length)
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof sent === 'string' ? sent : JSON.stringify(sent))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})

afterEach(async () => {
  await embedder?.close()
  server.closeAllConnections()
  // Closing a server twice is an error, which is fine here.
  await new Promise((resolve) => server.close(resolve))
})

function open(settings: Partial<EmbeddingSettings> = {}): Embedder {
  const { port } = server.address() as AddressInfo
  const baseUrl = `http://127.0.0.1:${port}/v1/`
  const all: EmbeddingSettings = { provider: 'openai-compatible', model: 'some-model', baseUrl, ...settings }
  embedder = createEmbedder(all, { modelFolder: '/nowhere', clock, random: () => 0 })
  if (!embedder) throw new Error('There is no embedder')
  return embedder
}

/** Not of length one, and with each text's length in it. */
function vectorOf(text: string): number[] {
  return [3 * text.length, 4 * text.length]
}

function openaiAnswer(input: string[]) {
  return { data: input.map((text, index) => ({ index, embedding: [...vectorOf(text), 0] })).reverse() }
}

async function withTimePassing<T>(work: Promise<T>): Promise<T> {
  let isDone = false
  const done = () => {
    isDone = true
  }
  work.then(done, done)
  while (!isDone) {
    await clock.advance(1_000)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return work
}

describe('an OpenAI-compatible server', () => {
  it('MEM-15 is asked for 64 texts at a time, matched by index', async () => {
    answer = (input) => ({
      body: { data: input.map((text, index) => ({ index, embedding: [Number(text), 1] })).reverse() },
    })
    const remote = open({ apiKey: 'sk-secret' })
    expect(remote).toMatchObject({ model: 'openai-compatible/some-model', dimensions: 0 })
    const vectors = await remote.embed(
      Array.from({ length: 130 }, (_, number) => String(number)),
      'memory',
    )
    expect(requests.map(({ body }) => body.input.length)).toEqual([64, 64, 2])
    expect(requests[0]).toMatchObject({ url: '/v1/embeddings', headers: { authorization: 'Bearer sk-secret' } })
    expect(requests[0]?.body.model).toBe('some-model')
    for (const [number, vector] of vectors.entries()) {
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
      expect((vector[0] ?? 0) / (vector[1] ?? 1)).toBeCloseTo(number, 1)
    }
    expect(remote.dimensions).toBe(2)
    await expect(remote.embed(['x'], 'memory').catch(String)).resolves.toContain('invalid response')
  })

  it('MEM-15 is retried if that can help, but not for a question', async () => {
    const statuses = [429, 503, 500, 200]
    answer = (input, count) => ({ status: statuses[count - 1] ?? 200, body: openaiAnswer(input) })
    const remote = open()
    await withTimePassing(remote.embed(['a'], 'memory'))
    expect(requests).toHaveLength(4)
    answer = () => ({ status: 503, body: { error: { message: 'busy' } } })
    await expect(remote.embed(['a'], 'question')).rejects.toMatchObject({
      code: 'provider_error',
      message: 'openai-compatible/some-model: busy (HTTP 503)',
    })
    expect(requests).toHaveLength(5)
    await expect(withTimePassing(remote.embed(['a'], 'memory'))).rejects.toMatchObject({ code: 'provider_error' })
    expect(requests).toHaveLength(9)
  })

  it('MEM-15 is not retried if that cannot help, and errors contain no key', async () => {
    answer = () => ({ status: 401, body: { error: { message: 'wrong key sk-secret \u001b[2J token' } } })
    await expect(open({ apiKey: 'sk-secret' }).embed(['a', 'b'], 'memory')).rejects.toMatchObject({
      message: 'openai-compatible/some-model: wrong key [key]  token (HTTP 401)',
    })
    expect(requests).toHaveLength(1)
    answer = () => ({ status: 429, headers: { 'retry-after': '3600' }, body: 'later' })
    await expect(embedder?.embed(['a'], 'memory')).rejects.toMatchObject({ code: 'rate_limited' })
    expect(requests).toHaveLength(2)
  })

  it('MEM-15 gets the beginning of a text that is too long', async () => {
    answer = (input) => {
      const isTooLong = input.some((text) => text.length > 900)
      const refusal = { error: { message: 'This model has a maximum context length of 300 tokens' } }
      return isTooLong ? { status: 400, body: refusal } : { body: openaiAnswer(input) }
    }
    const vectors = await open().embed(['short', 'x'.repeat(20_000), 'also short', ''], 'memory')
    expect(vectors).toHaveLength(4)
    expect(requests.at(-1)?.body.input).toEqual(['also short', '.'])
    expect(Math.max(...requests.flatMap(({ body }) => body.input.map((text) => text.length)))).toBe(8_000)
  })

  it('MEM-15 reports an unreachable server and an invalid response', async () => {
    const nonsense: unknown[] = [
      '',
      'not json',
      {},
      { data: [] },
      { data: [{ index: 1, embedding: [1, 2, 3] }] },
      { data: [{ index: 0, embedding: [] }] },
      { data: [{ index: 0, embedding: ['1'] }] },
      '{"data":[{"index":0,"embedding":[1e999]}]}',
    ]
    const remote = open()
    for (const body of nonsense) {
      answer = () => ({ body })
      await expect(remote.embed(['a'], 'memory'), JSON.stringify(body)).rejects.toMatchObject({
        code: 'provider_error',
        message: expect.stringContaining('invalid response'),
      })
    }
    answer = (input) => ({ body: openaiAnswer(input) })
    await remote.embed(['a'], 'memory')
    answer = () => ({ body: { data: [{ index: 0, embedding: [1] }] } })
    await expect(remote.embed(['a'], 'memory')).rejects.toThrow('vectors of 1 numbers, after some of 3')
    await remote.close()
    const gone = open()
    await new Promise((resolve) => server.close(resolve))
    await expect(gone.embed(['a'], 'question')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/cannot be reached: .*ECONNREFUSED/),
    })
  })

  it('MEM-15 stops on abort, even while waiting for a retry', async () => {
    answer = () => ({ status: 503, body: '' })
    const stop = new AbortController()
    const asked = open().embed(['a'], 'memory', stop.signal)
    while (clock.timers() === 0 || requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    stop.abort(new Error('enough'))
    await expect(asked).rejects.toThrow('enough')
  })
})

it('MEM-15 supports Ollama', async () => {
  answer = (input) => ({ body: { embeddings: input.map(vectorOf) } })
  const { port } = server.address() as AddressInfo
  const remote = open({ provider: 'ollama', model: 'bge-m3', baseUrl: `http://127.0.0.1:${port}` })
  expect(remote.model).toBe('ollama/bge-m3')
  expect(await remote.embed(['abc', 'b'], 'question')).toEqual([Float32Array.of(0.6, 0.8), Float32Array.of(0.6, 0.8)])
  expect(requests).toMatchObject([
    { url: '/api/embed', body: { model: 'bge-m3', input: ['abc', 'b'], truncate: true } },
  ])
})

describe('any answer', () => {
  const anyAnswer = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record({
        data: fc.array(fc.record({ index: fc.integer({ min: -1, max: 4 }), embedding: fc.array(fc.double()) })),
        embeddings: fc.array(fc.array(fc.double({ noNaN: true }))),
      })
      .map((value) => JSON.stringify(value)),
  )

  it.each([openaiWire, ollamaWire])('MEM-15 is as many vectors as texts, or rejected ($provider)', (wire) => {
    fc.assert(
      fc.property(anyAnswer, fc.integer({ min: 1, max: 4 }), (text, count) => {
        const read = wire.read(text, count)
        if (!read.ok) {
          expect(read.message).not.toBe('')
          return
        }
        expect(read.value).toHaveLength(count)
        for (const vector of read.value) {
          expect(vector.length).toBeGreaterThan(0)
          expect(vector.every(Number.isFinite)).toBe(true)
        }
      }),
    )
  })
})
