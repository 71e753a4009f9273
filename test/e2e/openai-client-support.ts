import OpenAI from 'openai'
import type { Tool } from '../../src/tools/tool.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'

export interface OpenAiScene {
  familiar: RunningFamiliar
  fake: FakeModel
  client: OpenAI
  clientWith(options: { apiKey?: string; maxRetries?: number; headers?: Record<string, string> }): OpenAI
  /** The last request to the model, as sent. */
  lastAsked(): string
  close(): Promise<void>
}

/** The whole daemon, a provider on a socket, and OpenAI's own client between the test and the daemon. */
export async function openOpenAiScene(options: { toml?: string; extraTools?: Tool[] } = {}): Promise<OpenAiScene> {
  const fake = await startFakeModel()
  const { toml = '', extraTools = [] } = options
  const familiar = await startFamiliar({
    toml: `[memory]\nextraction = false\n${toml}`,
    extraTools,
    providers: {
      fake: `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\nsupports_vision = true\n[models.other]\nmodel = "other-model"\n`,
    },
  })
  const clientWith: OpenAiScene['clientWith'] = ({ apiKey, maxRetries = 0, headers }) =>
    new OpenAI({
      baseURL: `${familiar.daemon.url}/v1`,
      apiKey: apiKey ?? familiar.daemon.credential,
      maxRetries,
      ...(headers && { defaultHeaders: headers }),
    })
  return {
    familiar,
    fake,
    client: clientWith({}),
    clientWith,
    lastAsked: () => fake.requests.at(-1)?.bytes ?? '',
    async close() {
      await familiar.close()
      await fake.close()
    },
  }
}

export const bell = {
  type: 'function' as const,
  function: {
    name: 'ring_bell',
    description: 'Rings the bell.',
    parameters: { type: 'object', properties: { times: { type: 'integer' } } },
  },
}

/** A picture of one pixel. */
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** The messages of the newest request to the model, as they came over the wire. */
export function messagesSent({ fake }: Pick<OpenAiScene, 'fake'>): { role: string; content: unknown }[] {
  const messages = fake.requests.at(-1)?.body.messages
  return Array.isArray(messages) ? (messages as { role: string; content: unknown }[]) : []
}
