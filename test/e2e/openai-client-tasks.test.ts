import { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../src/protocol/events.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { bell, type OpenAiScene, openOpenAiScene } from './openai-client-support.ts'

let scene: OpenAiScene
const slow = Promise.withResolvers<void>()
beforeAll(async () => {
  scene = await openOpenAiScene({
    toml: '[tools]\ndisabled = ["memory_write"]\n',
    extraTools: [
      toolOf('first_tool', async () => {
        await slow.promise
        return said('one')
      }),
      toolOf('second_tool', async () => {
        slow.resolve()
        return said('two')
      }),
      toolOf('third_tool', async () => ({ ...said('building'), buildId: 'build-7' })),
    ],
  })
})
afterAll(() => scene.close())

async function sessionCount(): Promise<number> {
  const reply = await scene.familiar.request('GET', '/api/v1/sessions')
  return ((await reply.json()) as { sessions: unknown[] }).sessions.length
}

const history = '\n<chat_history>\nUSER: How warm is it?\nASSISTANT: 20 degrees.\n</chat_history>'
/** The first lines and the frame of the prompts that Open WebUI and LibreChat send, without their long guidelines. */
const tasks = [
  `### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:\n- Be clear.\n### Output:\nJSON format: { "title": "your concise title here" }\n### Chat History:${history}`,
  `### Task:\nGenerate a concise title summarizing the chat history.\n### Chat History:${history}`,
  `### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more specific subtopic tags.\n\n### Chat History:${history}`,
  `### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next in this conversation as a **user**, based on the chat history.\n### Chat History:${history}`,
  `### Task:\nAnalyze the chat history to determine the necessity of generating search queries, in the given language.\n\n### Chat History:${history}\n`,
  `### Task:\nGenerate a detailed prompt for am image generation task based on the given language and context.\n\n### Chat History:${history}`,
  `### Task:\nYou are an autocompletion system. Continue the text in \`<text>\` based on the **completion type** in \`<type>\` and the given language.  \n\n---\n### Context:${history}\n<type>General</type>  \n<text>How wa</text>  \n#### Output:\n`,
  '### Task:\nSummarize the conversation history that will be compacted out of the active chat context.\n\n### Previous Summary:\n\n\n### Messages Being Compacted:\nUSER: Hello',
  `### Task:\nErzeuge einen kurzen Titel.\n### Chat History:${history}`,
  'Create a concise, 3-5 word title with an emoji as a title for the chat history, in the given language.',
  "Your task is to reflect the speaker's likely facial expression through a fitting emoji. Interpret emotions from the message.\n\nMessage: ```How nice```",
  'You have been provided with a set of responses from various models to the latest user query: "How warm is it?"\n\nYour task is to synthesize these responses into a single, high-quality response.',
  'Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title itself.\n\nConversation:\nUser: Hello',
  'Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title in the detected language (5 words or less, no punctuation or quotation)\n\nUser: Hello',
  'Please generate a concise, 5-word-or-less title for the conversation, using its same language, with no punctuation.\n\n||>User:\n"Hello"\n\n||>Title:',
  'Please generate a concise title (max 40 characters) for a conversation that starts with:\nUser: Hello\nAssistant: Hi\n\nTitle:',
]

/** Tasks in the instructions, with the message that comes with them. */
const instructedTasks = [
  [
    'Available Tools: [{"name": "clock"}]\n\nYour task is to choose and return the correct tool(s) from the list of available tools based on the query. Follow these guidelines:',
    'Query: What time is it?',
  ],
  [
    'Available Tools: [{"name": "clock"}]\nReturn an empty string if no tools match the query.',
    'Query: What time is it?',
  ],
  [
    'Write a short label describing what this block of agent activity accomplished. It appears as the header of a collapsed activity group in a chat UI.',
    'Header:',
  ],
  ['Write a short orientation title for a user-visible reasoning step in a chat UI.', 'The user asks for the time.'],
] as const

const ownMessages = [
  '### Task:\nRespond to the user query using the provided context, incorporating inline citations.\n<context>x</context>',
  `### Task:\nRespond to the user query using the provided context.\n<context>\n<source id="1">Prompts of Open WebUI:${history}`,
  '### Task:\nGenerate a list of titles for my novel',
  '### Task:\nGenerate a concise title for my novel about whales',
  'Please generate a title for the conversation that I had with Anna yesterday',
  'Can you generate a concise, 3-5 word title with an emoji for my talk?',
  'Suggest 3-5 relevant follow-up questions for my interview with a baker',
  'What does "Your task is to reflect the speaker\'s likely facial expression through a fitting emoji" mean?',
]

describe('background requests of OpenAI clients', () => {
  it.each(tasks)('HTTP-5a makes no session and no turn: %s', async (content) => {
    const before = await sessionCount()
    scene.fake.reply({ text: '{ "title": "Warm Weather" }' })
    const answer = await scene.client.chat.completions.create({
      model: 'familiar',
      messages: [{ role: 'user', content }],
    })
    expect(answer.choices[0]?.message.content).toBe('{ "title": "Warm Weather" }')
    expect(await sessionCount()).toBe(before)
    expect(scene.fake.requests.at(-1)?.body).not.toHaveProperty('tools')
  })

  it('HTTP-5a comes as a stream where the client wants one', async () => {
    scene.fake.reply({ text: 'A title' })
    const messages = [{ role: 'user' as const, content: tasks[0] ?? '' }]
    const stream = await scene.client.chat.completions.create({ model: 'familiar', messages, stream: true })
    const chunks = await Array.fromAsync(stream)
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('A title')
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop')
  })

  it.each(instructedTasks)('HTTP-5a knows a task by its instructions: %s', async (system, content) => {
    const before = await sessionCount()
    scene.fake.reply({ text: '{"tool_calls": []}' })
    const answer = await scene.client.chat.completions.create({
      model: 'familiar',
      messages: [
        { role: 'system', content: system },
        { role: 'user', content },
      ],
    })
    expect(answer.choices[0]?.message.content).toBe('{"tool_calls": []}')
    expect(await sessionCount()).toBe(before)
  })

  it('HTTP-5a accepts a task that consists of instructions only', async () => {
    const before = await sessionCount()
    scene.fake.reply({ text: 'Warm Greeting' })
    const messages = [{ role: 'system' as const, content: tasks[14] ?? '' }]
    const answer = await scene.client.chat.completions.create({ model: 'familiar', messages })
    expect(answer.choices[0]?.message.content).toBe('Warm Greeting')
    expect(await sessionCount()).toBe(before)
    const others = [{ role: 'system' as const, content: 'You are a pirate.' }]
    const refused = scene.client.chat.completions.create({ model: 'familiar', messages: others })
    await expect(refused).rejects.toMatchObject({ status: 400 })
  })

  it('HTTP-5a answers in the form that the client demands, by a schema or by a tool', async () => {
    const schema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] }
    const messages = [{ role: 'user' as const, content: tasks[13] ?? '' }]
    scene.fake.reply({ text: '{"title":"Warm Greeting"}' })
    const format = { type: 'json_schema' as const, json_schema: { name: 'extract', schema } }
    const formed = await scene.client.chat.completions.create({ model: 'familiar', messages, response_format: format })
    expect(formed.choices[0]?.message.content).toBe('{"title":"Warm Greeting"}')
    expect(scene.lastAsked()).toContain('matches this schema')
    const before = await sessionCount()
    scene.fake.reply({ text: '```json\n{"title":"Warm Greeting"}\n```' })
    const called = await scene.client.chat.completions.create({
      model: 'familiar',
      messages,
      tools: [{ type: 'function', function: { name: 'extract', parameters: schema } }],
      tool_choice: { type: 'function', function: { name: 'extract' } },
    })
    expect(called.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'extract', arguments: '{"title":"Warm Greeting"}' } }] },
    })
    expect(await sessionCount()).toBe(before)
  })

  it.each(ownMessages)('HTTP-5a is not what a user asks: %s', async (content) => {
    const before = await sessionCount()
    scene.fake.reply({ text: 'An answer' })
    await scene.client.chat.completions.create({ model: 'familiar', messages: [{ role: 'user', content }] })
    expect(await sessionCount()).toBe(before + 1)
  })

  it('HTTP-5a continues a text', async () => {
    const before = await sessionCount()
    scene.fake.reply({ text: ' a time' })
    const answer = await scene.client.completions.create({ model: 'familiar', prompt: 'Once upon' })
    expect(answer).toMatchObject({ object: 'text_completion', choices: [{ text: ' a time', finish_reason: 'stop' }] })
    expect(await sessionCount()).toBe(before)
  })

  it('HTTP-5a continues texts as a stream', async () => {
    scene.fake.reply([{ text: ' a time' }, { text: ' a dream' }])
    const stream = await scene.client.completions.create({
      model: 'familiar',
      prompt: ['Once upon', 'I have'],
      echo: true,
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks = await Array.fromAsync(stream)
    const textOf = (index: number) =>
      chunks
        .flatMap(({ choices }) => choices.filter((choice) => choice.index === index).map(({ text }) => text))
        .join('')
    expect([textOf(0), textOf(1)]).toEqual(['Once upon a time', 'I have a dream'])
    expect(chunks.every(({ object }) => object === 'text_completion')).toBe(true)
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop')
    expect(chunks.at(-1)?.usage?.total_tokens).toBeGreaterThan(0)
  })
})

describe('the rest of OpenAI’s API', () => {
  it('HTTP-5 gives a response again', async () => {
    scene.fake.reply({ text: 'Once.' })
    const made = await scene.client.responses.create({ model: 'familiar', input: 'Say it' })
    const again = await scene.client.responses.retrieve(made.id)
    expect(again).toMatchObject({ id: made.id, status: 'completed', output: made.output, usage: made.usage })
    await expect(scene.client.responses.retrieve('resp_none')).rejects.toMatchObject({ status: 404 })
  })

  it('HTTP-5 deletes a response, the newest first', async () => {
    scene.fake.reply([{ text: 'One.' }, { text: 'Two.' }])
    const first = await scene.client.responses.create({ model: 'familiar', input: 'Count' })
    const second = await scene.client.responses.create({
      model: 'familiar',
      input: 'Go on',
      previous_response_id: first.id,
    })
    await expect(scene.client.responses.delete(first.id)).rejects.toMatchObject({ status: 409 })
    await scene.client.responses.delete(second.id)
    await expect(scene.client.responses.retrieve(second.id)).rejects.toMatchObject({ status: 404 })
    expect(await scene.client.responses.retrieve(first.id)).toMatchObject({ id: first.id })
    const before = await sessionCount()
    await scene.client.responses.delete(first.id)
    await expect(scene.client.responses.retrieve(first.id)).rejects.toMatchObject({ status: 404 })
    expect(await sessionCount()).toBe(before - 1)
    const gone = scene.client.responses.create({ model: 'familiar', input: 'And?', previous_response_id: first.id })
    await expect(gone).rejects.toMatchObject({ status: 404 })
    await expect(scene.client.responses.delete(first.id)).rejects.toMatchObject({ status: 404 })
  })

  it('HTTP-5 refuses a choice of tools that cannot be made', async () => {
    const messages = [{ role: 'user' as const, content: 'Ring' }]
    const choice = { type: 'function' as const, function: { name: 'no_such_tool' } }
    const named = scene.client.chat.completions.create({
      model: 'familiar',
      messages,
      tools: [bell],
      tool_choice: choice,
    })
    await expect(named).rejects.toMatchObject({ status: 400 })
    const none = scene.client.chat.completions.create({ model: 'familiar', messages, tool_choice: 'required' })
    await expect(none).rejects.toMatchObject({ status: 400 })
  })

  it('HTTP-5 demands the call of a tool of the client from the provider', async () => {
    const ask = (content: string) => [{ role: 'user' as const, content }]
    const named = { type: 'function' as const, function: { name: 'ring_bell' } }
    scene.fake.reply({ toolCalls: [{ name: 'ring_bell', input: { times: 1 } }] })
    const one = await scene.client.chat.completions.create({
      model: 'familiar',
      messages: ask('Hello there'),
      tools: [bell],
      tool_choice: named,
    })
    expect(one.choices[0]).toMatchObject({ finish_reason: 'tool_calls' })
    expect(scene.fake.requests.at(-1)?.body).toMatchObject({ tool_choice: named })
    scene.fake.reply({ toolCalls: [{ name: 'ring_bell', input: { times: 2 } }] })
    const any = await scene.client.responses.create({
      model: 'familiar',
      input: 'Hello to you',
      tools: [{ ...bell.function, type: 'function', strict: false }],
      tool_choice: 'required',
    })
    expect(any.output).toMatchObject([{ type: 'function_call', name: 'ring_bell' }])
    const { tool_choice: choice, tools } = scene.fake.requests.at(-1)?.body ?? {}
    expect(choice).toBe('required')
    expect(tools).toMatchObject([{ function: { name: 'ring_bell' } }])
  })

  it('HTTP-5 asks a model once more that answers without the call that is demanded', async () => {
    const messages = [{ role: 'user' as const, content: 'Good evening' }]
    scene.fake.reply([{ text: 'Good evening!' }, { toolCalls: [{ name: 'ring_bell', input: {} }] }])
    const request = { model: 'familiar', messages, tools: [bell], tool_choice: 'required' as const }
    const called = await scene.client.chat.completions.create(request)
    expect(called.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'ring_bell' } }])
    expect(scene.lastAsked()).toContain('Call it now.')
    const before = scene.fake.requests.length
    scene.fake.reply([{ text: 'No bell here.' }, { text: 'Still none.' }])
    const said = await scene.client.chat.completions.create({
      ...request,
      messages: [{ role: 'user', content: 'Good night then' }],
    })
    expect(said.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'Still none.' } })
    expect(scene.fake.requests.length).toBe(before + 2)
  })

  it('HTTP-5 demands nothing more once the client has given the result', async () => {
    const messages = [{ role: 'user' as const, content: 'Ring it once' }]
    const request = { model: 'familiar', tools: [bell], tool_choice: 'required' as const }
    scene.fake.reply([{ toolCalls: [{ name: 'ring_bell', input: {} }] }, { text: 'It rang.' }])
    const called = await scene.client.chat.completions.create({ ...request, messages })
    const asked = called.choices[0]?.message
    if (!asked?.tool_calls?.[0]) throw new Error('no call came')
    const over = await scene.client.chat.completions.create({
      ...request,
      messages: [...messages, asked, { role: 'tool', tool_call_id: asked.tool_calls[0].id, content: 'ding' }],
    })
    expect(over.choices[0]?.message.content).toBe('It rang.')
    expect(scene.fake.requests.at(-1)?.body).not.toHaveProperty('tool_choice')
  })

  it('HTTP-5b says what is missing without a voice', async () => {
    const file = await toFile(new Uint8Array(2_000), 'said.wav', { type: 'audio/wav' })
    const heard = await scene.client.audio.transcriptions.create({ model: 'whisper-1', file }).catch((error) => error)
    expect([400, 503]).toContain(heard.status)
    expect(heard.message).not.toContain('415')
    const empty = await scene.client.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: '' }).catch((e) => e)
    expect(empty.status).toBe(400)
  })

  it('HTTP-5c /api/chat reads the history that it is sent, once', async () => {
    const messages = [
      { role: 'user', content: 'My dog is called Rex' },
      { role: 'assistant', content: 'A fine name' },
      { role: 'user', content: 'What is he called?' },
    ]
    const json = { accept: 'application/json' }
    scene.fake.reply({ text: 'Rex' })
    await scene.familiar.request('POST', '/api/chat', { session: 'plain', messages }, json)
    expect(scene.lastAsked()).toContain('My dog is called Rex')
    expect(scene.lastAsked()).toContain('A fine name')
    const longer = [...messages, { role: 'assistant', content: 'Rex' }, { role: 'user', content: 'And now?' }]
    scene.fake.reply({ text: 'Still Rex' })
    await scene.familiar.request('POST', '/api/chat', { session: 'plain', messages: longer }, json)
    expect(scene.lastAsked().split('My dog is called Rex')).toHaveLength(2)
    expect(scene.lastAsked().split('What is he called?')).toHaveLength(2)
  })
})

describe('tool calls in the reply of a turn', () => {
  it('LOOP-2 lists them in the order in which they were made, with the build that was started', async () => {
    scene.fake.reply([
      { toolCalls: [{ name: 'first_tool' }, { name: 'second_tool' }] },
      { toolCalls: [{ name: 'third_tool' }] },
      { text: 'done' },
    ])
    const events: TurnEvent[] = []
    for await (const event of scene.familiar.stream('Go', { session: 'calls' })) events.push(event)
    const response = events.find((event) => event.type === 'response')
    expect(response?.toolCalls.map(({ name }) => name)).toEqual(['first_tool', 'second_tool', 'third_tool'])
    expect(response?.buildId).toBe('build-7')
  })

  it('session_status names the model that answers', async () => {
    scene.fake.reply([{ toolCalls: [{ name: 'session_status' }] }, { text: 'done' }])
    await scene.client.chat.completions.create({
      model: 'fake/other',
      messages: [{ role: 'user', content: 'Which model are you?' }],
    })
    expect(scene.lastAsked()).toContain('Model: fake/other')
  })

  it('TOOL-1 a tool that the config names is switched off, and listed so', async () => {
    scene.fake.reply({ text: 'ok' })
    await scene.familiar.chat('Hello', { session: 'off' })
    expect(scene.lastAsked()).not.toContain('"memory_write"')
    const { tools } = (await (await scene.familiar.request('GET', '/api/v1/tools')).json()) as {
      tools: { name: string; status: string }[]
    }
    expect(tools.find(({ name }) => name === 'memory_write')).toMatchObject({ status: 'disabled' })
  })
})
