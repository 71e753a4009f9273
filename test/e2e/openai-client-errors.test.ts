import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { afterEach, describe, expect, it } from 'vitest'
import { messagesSent, type OpenAiScene, openOpenAiScene } from './openai-client-support.ts'

const scenes: OpenAiScene[] = []
afterEach(async () => {
  for (const scene of scenes.splice(0)) await scene.close()
})

async function open(toml = ''): Promise<OpenAiScene> {
  const scene = await openOpenAiScene({ toml })
  scenes.push(scene)
  return scene
}

const hello: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello' }]

async function failure(asked: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const cause = await asked.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (cause instanceof OpenAI.APIError) return cause
  throw new Error(`No error of the client: ${String(cause)}`)
}

describe('errors, as the client’s own classes', () => {
  it('HTTP-5 a wrong token, an unknown model, a bad list, an unknown path', async () => {
    const { client, clientWith } = await open()
    const create = (body: object, by = client) =>
      failure(by.chat.completions.create({ model: 'familiar', messages: hello, ...body }))
    const wrong = await create({}, clientWith({ apiKey: 'wrong' }))
    expect(wrong).toBeInstanceOf(OpenAI.AuthenticationError)
    expect(wrong).toMatchObject({ status: 401, type: 'authentication_error', code: 'unauthorized', param: null })
    const unknown = await create({ model: 'gpt-nothing' })
    expect(unknown).toBeInstanceOf(OpenAI.NotFoundError)
    expect(unknown).toMatchObject({ param: 'model', type: 'not_found_error' })
    const bad = [
      { messages: [] },
      { messages: [{ role: 'system', content: 'Only this.' }] },
      { messages: [...hello, { role: 'assistant', content: 'Hi' }] },
      { messages: [{ role: 'user', content: [{ type: 'video', video: 'x' }] }] },
      { messages: [{ role: 'wizard', content: 'x' }] },
      { messages: [{ role: 'user', content: ' ' }] },
      { n: 2 },
      { modalities: ['audio'] },
    ]
    for (const body of bad) {
      const refused = await create(body)
      expect(refused, JSON.stringify(body)).toBeInstanceOf(OpenAI.BadRequestError)
      expect(refused).toMatchObject({ type: 'invalid_request_error', code: 'bad_request' })
    }
    expect((await create({ n: 2 })).param).toBe('n')
    const nowhere = await failure(client.get('/nowhere'))
    expect(nowhere).toBeInstanceOf(OpenAI.NotFoundError)
    expect(nowhere.type).toBe('not_found_error')
    expect(await failure(client.delete('/models'))).toMatchObject({ status: 405, type: 'invalid_request_error' })
  })

  it('HTTP-5 too many requests, with when to come back', async () => {
    const { client } = await open('[http]\nrate_limit_per_minute = 2\n')
    await client.models.list()
    await client.models.list()
    const refused = await failure(client.models.list())
    expect(refused).toBeInstanceOf(OpenAI.RateLimitError)
    expect(Number(refused.headers?.get('retry-after'))).toBeGreaterThan(0)
  })

  it('HTTP-5 a failing provider is a server error that the client does not retry, and is called again for the next message', async () => {
    const { client, clientWith, fake } = await open()
    fake.respondWith(() => ({ status: 401, errorMessage: 'No such key.' }))
    const before = fake.requests.length
    const failed = await failure(
      clientWith({ maxRetries: 2 }).chat.completions.create({ model: 'familiar', messages: hello }),
    )
    expect(failed).toBeInstanceOf(OpenAI.InternalServerError)
    expect(failed).toMatchObject({ type: 'server_error', code: 'provider_error' })
    expect(fake.requests.length).toBe(before + 1)
    const stream = await client.chat.completions.create({ model: 'familiar', messages: hello, stream: true })
    const broken = await failure(Array.fromAsync(stream))
    expect(broken).toMatchObject({ type: 'server_error', code: 'provider_error' })
    fake.respondWith(() => ({ text: 'Here I am.' }))
    const answer = await client.chat.completions.create({ model: 'familiar', messages: hello })
    expect(answer.choices[0]?.message.content).toBe('Here I am.')
    expect(messagesSent({ fake }).filter(({ role }) => role === 'user')).toHaveLength(1)
  })

  it('HTTP-5 embeddings that are switched off are unavailable', async () => {
    const { client } = await open()
    const asked = client.embeddings.create({ model: 'familiar-embedding', input: 'Hello' })
    expect(await failure(asked)).toMatchObject({ status: 503, type: 'server_error', code: 'unavailable' })
  })
})
