import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bell, messagesSent, type OpenAiScene, openOpenAiScene, pixel } from './openai-client-support.ts'

let scene: OpenAiScene
beforeAll(async () => {
  scene = await openOpenAiScene()
})
afterAll(() => scene.close())

const tools = [{ type: 'function' as const, ...bell.function, strict: null }]

function talk(): string {
  return JSON.stringify(messagesSent(scene).slice(1))
}

describe('responses', () => {
  it('HTTP-5 are returned whole, and continue one another in one session', async () => {
    scene.fake.reply([{ text: 'Hello, Anna.', usage: { input: 9, output: 4 } }, { text: 'Anna.' }])
    const first = await scene.client.responses.create({
      model: 'familiar',
      input: 'I am Anna.',
      instructions: 'Be kind.',
    })
    expect(first).toMatchObject({
      object: 'response',
      status: 'completed',
      output_text: 'Hello, Anna.',
      usage: { input_tokens: 9, output_tokens: 4, total_tokens: 13 },
    })
    expect(talk()).toContain('Be kind.')
    const second = await scene.client.responses.create({
      model: 'familiar',
      input: [{ role: 'user', content: 'Who am I?' }],
      instructions: 'Be kind.',
      previous_response_id: first.id,
    })
    expect(second).toMatchObject({ output_text: 'Anna.', previous_response_id: first.id })
    expect(talk()).toContain('I am Anna.')
    expect(Reflect.get(second, 'familiar').session_id).toBe(Reflect.get(first, 'familiar').session_id)
  })

  it('HTTP-5 from an earlier one, the later ones stay as they are', async () => {
    scene.fake.reply([{ text: 'Red.' }, { text: 'Blue.' }, { text: 'Green.' }, { text: 'Blue it was.' }])
    const create = (input: string, previous?: string) =>
      scene.client.responses.create({ model: 'familiar', input, ...(previous && { previous_response_id: previous }) })
    const first = await create('A colour for the door.')
    const second = await create('Another.', first.id)
    await create('Yet another.', first.id)
    expect(talk()).toContain('Red.')
    expect(talk()).not.toContain('Blue.')
    await create('Which?', second.id)
    expect(talk()).toContain('Blue.')
    expect(talk()).not.toContain('Green.')
    scene.fake.reply([{ text: 'Black.' }, { text: 'Red stays.' }])
    await create('A colour for the door.')
    await create('Still?', first.id)
    expect(talk()).toContain('Red.')
    expect(talk()).not.toContain('Black.')
    const unknown = await create('x', 'resp_nothing').catch((cause) => cause)
    expect(unknown).toBeInstanceOf(OpenAI.NotFoundError)
    expect(unknown.param).toBe('previous_response_id')
  })

  it('HTTP-5 stream, as the helper of the client reads them', async () => {
    scene.fake.reply({ text: 'One. Two. Three.', chunkSize: 2 })
    const stream = scene.client.responses.stream({ model: 'familiar', input: 'Count to three.' })
    const types: string[] = []
    for await (const event of stream) types.push(event.type)
    const final = await stream.finalResponse()
    expect(final.output_text).toBe('One. Two. Three.')
    expect(types.slice(0, 4)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
    ])
    expect(types.at(-1)).toBe('response.completed')
  })

  it('HTTP-5 ask for the client’s functions and continue with their results, streamed and whole', async () => {
    scene.fake.reply([
      {
        text: 'I ring.',
        toolCalls: [
          { name: 'ring_bell', input: { times: 1 } },
          { name: 'ring_bell', input: { times: 2 } },
        ],
      },
      { text: 'Rang.' },
    ])
    const stream = scene.client.responses.stream({ model: 'familiar', input: 'Ring for responses!', tools })
    const asked = await stream.finalResponse()
    const calls = asked.output.filter((item) => item.type === 'function_call')
    expect(calls.map(({ name, arguments: given }) => [name, given])).toEqual([
      ['ring_bell', '{"times":1}'],
      ['ring_bell', '{"times":2}'],
    ])
    const before = scene.fake.requests.length
    const answer = await scene.client.responses.create({
      model: 'familiar',
      previous_response_id: asked.id,
      tools,
      input: calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'ding' })),
    })
    expect(answer.output_text).toBe('Rang.')
    expect(answer.id).not.toBe(asked.id)
    expect(scene.fake.requests.length).toBe(before + 1)
  })

  it('HTTP-5 take the whole list where the client keeps it, with pictures', async () => {
    scene.fake.reply([{ text: 'A pixel.' }, { text: 'Red, I think.' }])
    const first = [
      {
        role: 'user' as const,
        content: [
          { type: 'input_text' as const, text: 'What is that?' },
          { type: 'input_image' as const, detail: 'auto' as const, image_url: `data:image/png;base64,${pixel}` },
        ],
      },
    ]
    const seen = await scene.client.responses.create({ model: 'familiar', input: first, store: false })
    expect(seen.output_text).toBe('A pixel.')
    expect(scene.lastAsked()).toContain(pixel)
    const next = await scene.client.responses.create({
      model: 'familiar',
      input: [
        ...first,
        ...seen.output.filter((item) => item.type === 'message'),
        { role: 'user', content: 'Which colour?' },
      ],
      store: false,
    })
    expect(Reflect.get(next, 'familiar').session_id).toBe(Reflect.get(seen, 'familiar').session_id)
    expect(talk()).not.toContain('client history')
  })

  it('HTTP-5 a failure while it streams is an error of the client', async () => {
    scene.fake.reply({ status: 401, errorMessage: 'No such key.' })
    const stream = await scene.client.responses.create({ model: 'familiar', input: 'Fail, please.', stream: true })
    const cause = await Array.fromAsync(stream).catch((error) => error)
    expect(cause).toBeInstanceOf(OpenAI.APIError)
    expect(cause.message).toContain('No such key.')
  })
})
