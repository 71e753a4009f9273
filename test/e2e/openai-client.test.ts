import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLocalSite } from '../support/local-site.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { bell, type OpenAiScene, openOpenAiScene, pixel } from './openai-client-support.ts'

let scene: OpenAiScene
beforeAll(async () => {
  scene = await openOpenAiScene({ extraTools: [toolOf('look_up', async () => said('It is 7.'))] })
})
afterAll(() => scene.close())

const ask = (content: string): ChatCompletionMessageParam[] => [{ role: 'user', content }]

describe('OpenAI’s own client', () => {
  it('HTTP-5 gets an answer, with usage and whose turn it was', async () => {
    scene.fake.reply({ text: 'Hello, Anna.', usage: { input: 70, cacheRead: 30, output: 5 } })
    const answer = await scene.client.chat.completions.create({ model: 'familiar', messages: ask('Hello') })
    expect(answer).toMatchObject({
      object: 'chat.completion',
      model: 'familiar',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello, Anna.' } }],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 5,
        total_tokens: 105,
        prompt_tokens_details: { cached_tokens: 30 },
      },
      familiar: { session_id: expect.any(String), turn_id: expect.any(String), cost_usd: null },
    })
  })

  it('HTTP-5 reads a stream: text as it arrives, without tool calls, usage on request', async () => {
    scene.fake.reply([
      { text: 'Let me see.', toolCalls: [{ name: 'look_up' }] },
      { text: 'It is seven.', chunkSize: 3, usage: { input: 10, output: 4 } },
    ])
    const stream = await scene.client.chat.completions.create({
      model: 'familiar',
      messages: ask('What is it?'),
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks = await Array.fromAsync(stream)
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(text).toBe('Let me see.\n\nIt is seven.')
    expect(chunks.length).toBeGreaterThan(5)
    expect(JSON.stringify(chunks)).not.toContain('look_up')
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    expect(chunks[0]?.choices[0]?.delta).toMatchObject({ role: 'assistant' })
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop')
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } })
    const plain = await scene.client.chat.completions.create({ model: 'familiar', messages: ask('Hi'), stream: true })
    expect((await Array.fromAsync(plain)).every((chunk) => chunk.usage === undefined)).toBe(true)
  })

  it('HTTP-5 the stream helper of the client builds the whole from it', async () => {
    scene.fake.reply({ text: 'One. Two. Three.', chunkSize: 2 })
    const stream = scene.client.chat.completions.stream({ model: 'familiar', messages: ask('Count') })
    expect(await stream.finalContent()).toBe('One. Two. Three.')
  })

  it('HTTP-5 thinking is sent only if a header asks for it', async () => {
    const thoughts = async (headers: Record<string, string>) => {
      scene.fake.reply({ thinking: { text: 'Hmm, seven.' }, text: 'Seven.' })
      const client = scene.clientWith({ headers })
      const stream = await client.chat.completions.create({ model: 'familiar', messages: ask('Think'), stream: true })
      return JSON.stringify(await Array.fromAsync(stream))
    }
    expect(await thoughts({})).not.toContain('Hmm')
    expect(await thoughts({ 'familiar-thinking': 'true' })).toContain('"reasoning_content":"Hmm, seven."')
  })

  it('HTTP-5 an answer that is to stay silent is empty, streamed or whole', async () => {
    scene.fake.reply([
      { text: 'NO_REPLY', chunkSize: 2 },
      { text: 'NO_REPLY' },
      { text: 'NOTE_WELL: yes', chunkSize: 2 },
    ])
    const streamed = scene.client.chat.completions.stream({ model: 'familiar', messages: ask('Psst') })
    expect((await streamed.finalMessage()).content).toBe('')
    const whole = await scene.client.chat.completions.create({ model: 'familiar', messages: ask('Psst 2') })
    expect(whole.choices[0]?.message.content).toBe('')
    const loud = scene.client.chat.completions.stream({ model: 'familiar', messages: ask('Psst 3') })
    expect(await loud.finalContent()).toBe('NOTE_WELL: yes')
  })

  it('HTTP-5 lists the agent and the models, and answers with the one that is named', async () => {
    const { data } = await scene.client.models.list()
    expect(data.map(({ id }) => id)).toEqual(['familiar', 'fake/main', 'fake/other'])
    expect(await scene.client.models.retrieve('fake/other')).toMatchObject({ id: 'fake/other', owned_by: 'fake' })
    await expect(scene.client.models.retrieve('fake/none')).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    const named = async (model: string, messages: ChatCompletionMessageParam[]) => {
      scene.fake.reply({ text: 'Yes.' })
      const answer = await scene.client.chat.completions.create({ model, messages })
      return [answer.model, scene.fake.requests.at(-1)?.body.model]
    }
    const first = ask('Which are you?')
    expect(await named('fake/other', first)).toEqual(['fake/other', 'other-model'])
    const more: ChatCompletionMessageParam[] = [...first, { role: 'assistant', content: 'Yes.' }, ...ask('And now?')]
    expect(await named('fake/main', more)).toEqual(['fake/main', 'fake-model'])
    const last: ChatCompletionMessageParam[] = [...more, { role: 'assistant', content: 'Yes.' }, ...ask('Still?')]
    expect(await named('familiar', last)).toEqual(['familiar', 'fake-model'])
  })
})

describe('tools of the client', () => {
  const twoCalls = {
    toolCalls: [
      { name: 'ring_bell', input: { times: 1 } },
      { name: 'ring_bell', input: { times: 2 } },
    ],
  }

  it('HTTP-5 are requested together, and the turn continues with their results', async () => {
    const messages = ask('Ring twice!')
    scene.fake.reply([twoCalls, { text: 'Rang.' }])
    const asked = await scene.client.chat.completions.create({ model: 'familiar', messages, tools: [bell] })
    const choice = asked.choices[0]
    expect(choice?.finish_reason).toBe('tool_calls')
    const calls = choice?.message.tool_calls ?? []
    expect(calls.map((call) => call.type === 'function' && call.function)).toEqual([
      { name: 'ring_bell', arguments: '{"times":1}' },
      { name: 'ring_bell', arguments: '{"times":2}' },
    ])
    const before = scene.fake.requests.length
    const answer = await scene.client.chat.completions.create({
      model: 'familiar',
      tools: [bell],
      messages: [
        ...messages,
        { role: 'assistant', content: null, tool_calls: calls },
        ...calls.map(({ id }, index) => ({ role: 'tool' as const, tool_call_id: id, content: `ding ${index}` })),
      ],
    })
    expect(answer.choices[0]?.message.content).toBe('Rang.')
    expect(scene.fake.requests.length).toBe(before + 1)
    expect(scene.lastAsked()).toContain('ding 0')
    expect(scene.lastAsked()).toContain('ding 1')
    expect(scene.lastAsked()).not.toContain('client calls')
  })

  it('HTTP-5 the same as a stream, sent once', async () => {
    const messages = ask('Ring as a stream!')
    scene.fake.reply([
      { text: 'I ring. ', ...twoCalls },
      { text: 'Rang it.', chunkSize: 2 },
    ])
    const first = scene.client.chat.completions.stream({ model: 'familiar', messages, tools: [bell] })
    const message = await first.finalMessage()
    expect(message.content).toBe('I ring. ')
    expect(message.tool_calls).toHaveLength(2)
    const rest = scene.client.chat.completions.stream({
      model: 'familiar',
      tools: [bell],
      messages: [
        ...messages,
        message,
        ...(message.tool_calls ?? []).map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'ding' })),
      ],
    })
    expect(await rest.finalContent()).toBe('Rang it.')
  })

  it('HTTP-5 the runner of the client makes the calls itself', async () => {
    scene.fake.reply([{ toolCalls: [{ name: 'ring_bell', input: { times: 3 } }] }, { text: 'Rang three times.' }])
    const rung: unknown[] = []
    const runner = scene.client.chat.completions.runTools({
      model: 'familiar',
      messages: ask('Ring thrice!'),
      tools: [
        {
          type: 'function',
          function: {
            name: 'ring_bell',
            description: 'Rings the bell.',
            parameters: { type: 'object', properties: {} },
            parse: JSON.parse,
            function: async (input: unknown) => {
              rung.push(input)
              return 'ding'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toBe('Rang three times.')
    expect(rung).toEqual([{ times: 3 }])
  })

  it('HTTP-5 none are offered with "none"; a name of ours, a bad schema and an unknown kind are refused', async () => {
    scene.fake.reply({ text: 'No bell.' })
    const messages = ask('Without')
    await scene.client.chat.completions.create({ model: 'familiar', messages, tools: [bell], tool_choice: 'none' })
    expect(scene.lastAsked()).not.toContain('ring_bell')
    scene.fake.reply({ text: 'A bell.' })
    await scene.client.chat.completions.create({
      model: 'familiar',
      messages: ask('With'),
      tools: [bell],
      tool_choice: { type: 'function', function: { name: 'ring_bell' } },
    })
    expect(scene.lastAsked()).toContain('[The client wants ring_bell called.]')
    const refused = async (tool: object) => {
      const tools = [tool as typeof bell]
      return scene.client.chat.completions.create({ model: 'familiar', messages, tools }).catch((cause) => cause)
    }
    const ours = await refused({ type: 'function', function: { name: 'look_up', parameters: {} } })
    expect(ours).toBeInstanceOf(OpenAI.BadRequestError)
    expect(ours.message).toContain('look_up')
    const badName = await refused({ type: 'function', function: { name: 'no such name' } })
    expect(badName).toMatchObject({ status: 400, param: 'tools' })
    expect(await refused({ type: 'custom', custom: { name: 'x' } })).toMatchObject({ status: 400 })
  })
})

describe('files', () => {
  it('HTTP-5 a picture in the message reaches the model', async () => {
    scene.fake.reply({ text: 'A pixel.' })
    const answer = await scene.client.chat.completions.create({
      model: 'familiar',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
          ],
        },
      ],
    })
    expect(answer.choices[0]?.message.content).toBe('A pixel.')
    expect(scene.lastAsked()).toContain(pixel)
  })

  it('SEC-8 HTTP-5 an address is fetched by the rules of every fetch: nothing of this machine or its network', async () => {
    const site = await openLocalSite((_request, response) => response.end(Buffer.from(pixel, 'base64')))
    const see = (url: string) =>
      scene.client.chat.completions
        .create({
          model: 'familiar',
          messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
        })
        .catch((cause) => cause)
    try {
      for (const url of [`${site.origin}/a.png`, 'http://169.254.169.254/latest', 'file:///etc/passwd', 'nonsense']) {
        expect(await see(url), url).toMatchObject({ status: 400, type: 'invalid_request_error' })
      }
      expect(site.requests).toHaveLength(0)
    } finally {
      await site.close()
    }
  })

  it('HTTP-5 sound and documents are kept with the message; too many and unknown ones are refused', async () => {
    scene.fake.reply({ text: 'Kept.' })
    const text = Buffer.from('The bell is green.').toString('base64')
    const { data } = await scene.client.chat.completions
      .create({
        model: 'familiar',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Keep these.' },
              { type: 'input_audio', input_audio: { data: Buffer.from('RIFF').toString('base64'), format: 'wav' } },
              { type: 'file', file: { filename: 'bell.txt', file_data: `data:text/plain;base64,${text}` } },
            ],
          },
        ],
      })
      .withResponse()
    expect(data.choices[0]?.message.content).toBe('Kept.')
    const image = { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${pixel}` } }
    const many = scene.client.chat.completions.create({
      model: 'familiar',
      messages: [{ role: 'user', content: Array.from({ length: 11 }, () => image) }],
    })
    await expect(many).rejects.toMatchObject({ status: 400 })
    const unknown = scene.client.chat.completions.create({
      model: 'familiar',
      messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }],
    })
    await expect(unknown).rejects.toMatchObject({ status: 400, param: 'messages.0.content.0.file' })
  })
})
