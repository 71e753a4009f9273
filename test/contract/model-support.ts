import {
  type LanguageModel,
  ModelError,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamEvent,
} from '../../src/models/model.ts'
import { createModel } from '../../src/models/models-from-config.ts'
import type { ModelSettings, ProviderType } from '../../src/models/provider-connection.ts'
import type { ModelMessage, ToolDefinition } from '../../src/protocol/messages.ts'
import { createGuardedFetch, type GuardedFetch } from '../../src/security/network/guarded-fetch.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'

export const apiKey = 'sk-secret-of-the-owner-1234'

/** A fake provider and the means to reach it: one of each for a whole file. */
export interface ModelBench {
  fake: FakeModel
  fetch: GuardedFetch
  close(): Promise<void>
}

export async function openModelBench(): Promise<ModelBench> {
  const fake = await startFakeModel()
  const { hostname: host, port } = new URL(fake.url)
  const fetch = createGuardedFetch({ allowedHosts: [{ host, port: Number(port) }], streaming: true })
  return {
    fake,
    fetch,
    async close() {
      await fetch.close()
      await fake.close()
    },
  }
}

export type MakeModel = (
  bench: ModelBench,
  settings?: Partial<ModelSettings>,
  provider?: { name?: string; url?: string },
) => LanguageModel

export function modelMaker(type: Exclude<ProviderType, 'offline'>, basePath: string): MakeModel {
  return (bench, settings = {}, { name = 'mine', url = bench.fake.url } = {}) =>
    createModel({
      type,
      providerName: name,
      name: 'main',
      baseUrl: `${url}${basePath}`,
      apiKey,
      settings: { model: 'fake-model', maxTokens: 1_000, supportsVision: true, ...settings },
      fetch: bench.fetch,
    })
}

export const weatherTool: ToolDefinition = {
  name: 'weather',
  description: 'Tells the weather of a place',
  inputSchema: {
    type: 'object',
    properties: { place: { type: 'string' }, day: { type: 'string' } },
    required: ['place'],
  },
}

export function user(text: string): ModelMessage {
  return { role: 'user', parts: [{ type: 'text', text }] }
}

export function makeRequest(fields: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: [
      { name: 'soul', layer: 'stable', text: 'You are a familiar.' },
      { name: 'memory', layer: 'semi_stable', text: 'The owner likes tea.' },
    ],
    messages: [user('Hello')],
    tools: [weatherTool],
    maxTokens: 500,
    loadMedia: async () => new Uint8Array(),
    ...fields,
  }
}

export interface Heard {
  events: ModelStreamEvent[]
  response: ModelResponse
}

/** Reads a stream to its end and holds it to the seam: deltas, then exactly one `finished`, saying the same. */
export async function hear(
  model: LanguageModel,
  request: ModelRequest,
  signal = new AbortController().signal,
): Promise<Heard> {
  const events: ModelStreamEvent[] = []
  for await (const event of model.stream(request, signal)) events.push(event)
  const last = events.at(-1)
  if (last?.type !== 'finished') throw new Error('the stream did not end with finished')
  const { response } = last
  for (const [delta, type] of [
    ['text_delta', 'text'],
    ['thinking_delta', 'thinking'],
  ] as const) {
    const streamed = events.map((event) => (event.type === delta ? event.text : '')).join('')
    const kept = response.parts.map((part) => (part.type === type ? part.text : '')).join('')
    if (streamed !== kept) throw new Error(`the ${type} deltas "${streamed}" do not equal the parts "${kept}"`)
  }
  if (events.filter((event) => event.type === 'finished').length !== 1) throw new Error('finished more than once')
  return { events, response }
}

export async function hearFailure(
  model: LanguageModel,
  request: ModelRequest,
  signal = new AbortController().signal,
): Promise<ModelError> {
  try {
    for await (const _ of model.stream(request, signal));
  } catch (error) {
    if (error instanceof ModelError) return error
    throw error
  }
  throw new Error('the call did not fail')
}
