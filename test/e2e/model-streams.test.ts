import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cleanUp, newHome, serveFamiliar } from './cli-process.ts'

/** One recorded answer of a provider: its bytes in the pieces in which they came. */
interface Recorded {
  status?: number
  type?: string
  pieces: string[]
}

interface Seen {
  path: string
  headers: IncomingMessage['headers']
  body: { messages: { role: string; content: unknown; [field: string]: unknown }[]; [field: string]: unknown }
}

const token = 'token-of-the-test-0123456789abcdef'

/** A provider's server that plays recorded answers one after the other. */
async function startReplay(): Promise<{ url: string; seen: Seen[]; play(answers: Recorded[]): void; server: Server }> {
  const seen: Seen[] = []
  let queue: Recorded[] = []
  const server = createServer((request, response) => void answer(request, response))
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const bytes of request) text += bytes
    seen.push({ path: request.url ?? '', headers: request.headers, body: JSON.parse(text) as Seen['body'] })
    const {
      status = 200,
      type = 'text/event-stream',
      pieces,
    } = queue.shift() ?? {
      status: 500,
      type: 'application/json',
      pieces: ['{"error":{"message":"nothing is left to play"}}'],
    }
    response.writeHead(status, { 'content-type': type })
    for (const piece of pieces) {
      response.write(piece)
      await new Promise((resolve) => setImmediate(resolve))
    }
    response.end()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    play(answers) {
      queue = [...answers]
      seen.length = 0
    },
    server,
  }
}

interface Reply {
  status: number
  reply?: string
  error?: string
  outcome?: string
  tool_calls?: { name: string; is_error: boolean }[]
  usage?: Record<string, unknown>
  cost_usd?: number | null
  /** As reported by the events. */
  thinking: string
  text: string
  retries: string[]
}

/** A daemon of its own process whose model is the provider in the file. */
async function serve(provider: string[], env: Record<string, string> = {}) {
  const home = newHome()
  mkdirSync(join(home, 'providers.d'), { recursive: true, mode: 0o700 })
  writeFileSync(join(home, 'providers.d', 'rec.toml'), provider.join('\n'), { mode: 0o600 })
  writeFileSync(join(home, 'familiar.toml'), '[routes]\nprimary = "rec/main"\n[memory]\nextraction = false\n')
  const common = {
    FAMILIAR_MODEL: 'rec/main',
    FAMILIAR_TOKEN: token,
    FAMILIAR_EMBEDDING: 'off',
    FAMILIAR_SANDBOX: 'off',
    REC_KEY: 'key-of-the-test',
  }
  const daemon = await serveFamiliar({ home, args: ['--port', '0'], env: { ...common, ...env } })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

  async function say(message: string, session: string): Promise<Reply> {
    const body = JSON.stringify({ message, session })
    const response = await fetch(`${daemon.url}/api/v1/chat`, { method: 'POST', headers, body })
    const reply = (await response.json()) as Partial<Reply>
    return { ...reply, status: response.status, ...(await told(session)) }
  }

  /** The events of the last turn for a watcher of the session. */
  async function told(session: string): Promise<Pick<Reply, 'thinking' | 'text' | 'retries'>> {
    const found = (await get('/api/v1/sessions')) as { sessions: { id: string; contact: string }[] }
    const id = found.sessions.find(({ contact }) => contact === session)?.id
    const page = (await get(`/api/v1/sessions/${id}/turn-events`)) as {
      events: { event: { type: string; text?: string; reason?: string; isQuiet?: true } }[]
    }
    const events = page.events.map(({ event }) => event)
    const last = events.slice(events.findLastIndex(({ type }) => type === 'message'))
    const joined = (type: string) => last.flatMap((event) => (event.type === type ? [event.text] : [])).join('')
    const retries = last.flatMap((event) => (event.type === 'retry' && !event.isQuiet ? [event.reason ?? ''] : []))
    return { thinking: joined('thinking_delta'), text: joined('text_delta'), retries }
  }

  async function get(path: string): Promise<unknown> {
    return (await fetch(`${daemon.url}${path}`, { headers })).json()
  }
  async function post(path: string, body: object): Promise<unknown> {
    return (await fetch(`${daemon.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  }
  return { home, daemon, say, get, post }
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`
const done = 'data: [DONE]\n\n'

/** A chunk of a chat completion. */
function chunk(delta: object, finish: string | null = null, more: object = {}): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }]
  return event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1763000000, model: 'm', choices, ...more })
}

const usage = { prompt_tokens: 900, completion_tokens: 12, total_tokens: 912 }
const plain = (text: string): Recorded => ({
  pieces: [chunk({ role: 'assistant', content: '' }), chunk({ content: text }), chunk({}, 'stop', { usage }), done],
})
const json = (value: object, status = 200): Recorded => ({
  status,
  type: 'application/json',
  pieces: [JSON.stringify(value)],
})

interface Case {
  name: string
  answers: Recorded[]
  /** Messages before the one that counts. */
  before?: string[]
  expect: object
  requests?: (seen: Seen[]) => void
}

const recallCall = { id: 'call_9', type: 'function', function: { name: 'recall_memory', arguments: '{"query":"dog"}' } }

const cases: Case[] = [
  {
    name: 'LOOP-3 a call with finish_reason stop (LiteLLM, Ollama, Gemini proxies) runs',
    answers: [
      {
        pieces: [
          chunk({ role: 'assistant', content: null, tool_calls: [{ index: 0, ...recallCall }] }),
          chunk({}, 'stop', { usage }),
          done,
        ],
      },
      plain('You have a dog.'),
    ],
    expect: { reply: 'You have a dog.', tool_calls: [{ name: 'recall_memory' }] },
  },
  {
    name: 'LOOP-3 a complete call of an answer that was cut by its length runs',
    answers: [
      {
        pieces: [
          chunk({ role: 'assistant', content: null, tool_calls: [{ index: 0, ...recallCall }] }),
          chunk({}, 'length', { usage }),
          done,
        ],
      },
      plain('Done.'),
    ],
    expect: { reply: 'Done.', tool_calls: [{ name: 'recall_memory' }] },
  },
  {
    name: 'MODEL-2 <think> in pieces (vLLM and llama.cpp without a reasoning parser) is thinking',
    answers: [
      {
        pieces: ['<th', 'ink>\nThe user ', 'greets me.\n</', 'think>\n\nHel', 'lo!']
          .map((content) => chunk({ content }))
          .concat(chunk({}, 'stop', { usage }), done),
      },
    ],
    expect: { reply: 'Hello!', thinking: 'The user greets me.\n', text: 'Hello!' },
  },
  {
    name: 'MODEL-2 thinking whose opening tag the chat template swallowed (DeepSeek-R1, QwQ) is thinking',
    answers: [
      {
        pieces: ['The user greets', ' me.\n</thi', 'nk>\n\nHello!']
          .map((content) => chunk({ content }))
          .concat(chunk({}, 'stop', { usage }), done),
      },
    ],
    expect: { reply: 'Hello!', thinking: 'The user greets me.\n' },
  },
  {
    name: 'MODEL-2 a tag in the middle of an answer stays text',
    answers: [plain('Models write `<think>` and `</think>` around it:\n```\n<think>\n</think>\n```\nThat is all.')],
    expect: {
      reply: 'Models write `<think>` and `</think>` around it:\n```\n<think>\n</think>\n```\nThat is all.',
      thinking: '',
    },
  },
  {
    name: 'MODEL-1 a whole JSON answer to a streamed request is taken',
    answers: [
      json({
        id: 'chatcmpl-2',
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'All at once.' }, finish_reason: 'stop' }],
        usage,
      }),
    ],
    expect: { reply: 'All at once.', usage: { input_tokens: 900, output_tokens: 12 } },
    requests: (seen) => expect(seen).toHaveLength(1),
  },
  {
    name: 'MODEL-1 [DONE] without a finish_reason ends an answer',
    answers: [{ pieces: [chunk({ content: 'That is ' }), chunk({ content: 'all.' }), done] }],
    expect: { reply: 'That is all.' },
    requests: (seen) => expect(seen).toHaveLength(1),
  },
  {
    name: 'MODEL-1 a JSON error with HTTP 200 is shown',
    answers: [json({ error: { message: 'Invalid model: nope', type: 'invalid_request_error', code: 400 } })],
    expect: { status: 502, error: expect.stringContaining('Invalid model: nope') },
    requests: (seen) => expect(seen).toHaveLength(1),
  },
  {
    name: 'COST-1 missing usage is estimated, marked and paid for',
    answers: [{ pieces: [chunk({ content: 'Some words without a count.' }), chunk({}, 'stop'), done] }],
    expect: { usage: { is_estimate: true, input_tokens: expect.toSatisfy((n: number) => n > 100) } },
  },
  {
    name: 'COST-1 xAI counts reasoning beside the completion',
    answers: [
      {
        pieces: [
          chunk({ role: 'assistant', reasoning_content: 'Let me see. ' }),
          chunk({ content: '4' }, 'stop'),
          event({
            id: 'x',
            object: 'chat.completion.chunk',
            choices: [],
            usage: {
              prompt_tokens: 32,
              completion_tokens: 1,
              total_tokens: 323,
              prompt_tokens_details: { text_tokens: 32, cached_tokens: 6 },
              completion_tokens_details: { reasoning_tokens: 290 },
              num_sources_used: 0,
            },
          }),
          done,
        ],
      },
    ],
    expect: { reply: '4', usage: { input_tokens: 32, output_tokens: 291, cache_read_tokens: 6 } },
  },
  {
    name: 'COST-1 Groq counts in x_groq',
    answers: [
      {
        pieces: [
          chunk({ role: 'assistant', content: 'Fast.' }),
          chunk({}, 'stop', { x_groq: { id: 'req_1', usage: { ...usage, prompt_time: 0.01, total_time: 0.03 } } }),
          done,
        ],
      },
    ],
    expect: { usage: { input_tokens: 900, output_tokens: 12 } },
  },
  {
    name: 'COST-1 Moonshot counts in the choice, and cached tokens at the top',
    answers: [
      {
        pieces: [
          chunk({ content: 'Moon.' }),
          event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: { ...usage, cached_tokens: 700 } }] }),
          done,
        ],
      },
    ],
    expect: { usage: { input_tokens: 900, output_tokens: 12, cache_read_tokens: 700 } },
  },
  {
    name: 'COST-1 DeepSeek counts prompt_cache_hit_tokens',
    answers: [
      {
        pieces: [
          chunk({ content: 'Deep.' }),
          chunk({}, 'stop', { usage: { ...usage, prompt_cache_hit_tokens: 640, prompt_cache_miss_tokens: 260 } }),
          done,
        ],
      },
    ],
    expect: { usage: { input_tokens: 900, cache_read_tokens: 640 } },
  },
  {
    name: 'MODEL-2 reasoning_details (OpenRouter) are shown, and go back unchanged',
    answers: [
      {
        pieces: [
          ': OPENROUTER PROCESSING\n\n',
          ...['I should ', 'look.'].map((text) =>
            chunk({
              role: 'assistant',
              content: '',
              reasoning_details: [{ type: 'reasoning.text', text, format: 'anthropic-claude-v1', index: 0 }],
            }),
          ),
          chunk({
            reasoning_details: [
              { type: 'reasoning.text', signature: 'c2lnbmVk', format: 'anthropic-claude-v1', index: 0 },
            ],
          }),
          chunk({ tool_calls: [{ index: 0, ...recallCall }] }, 'tool_calls', { usage }),
          done,
        ],
      },
      plain('Looked.'),
    ],
    expect: { reply: 'Looked.', thinking: 'I should look.' },
    requests: (seen) =>
      expect(seen[1]?.body.messages.find(({ role }) => role === 'assistant')?.reasoning_details).toEqual([
        {
          type: 'reasoning.text',
          text: 'I should look.',
          format: 'anthropic-claude-v1',
          index: 0,
          signature: 'c2lnbmVk',
        },
      ]),
  },
  {
    name: 'MODEL-2 reasoning_text (GitHub Copilot) is shown',
    answers: [
      { pieces: [chunk({ reasoning_text: 'Hm.' }), chunk({ content: 'Hi.' }), chunk({}, 'stop', { usage }), done] },
    ],
    expect: { reply: 'Hi.', thinking: 'Hm.' },
  },
  {
    name: 'LOOP-3 a reply that was cut by its length says so',
    answers: [{ pieces: [chunk({ content: 'Once upon a' }), chunk({}, 'length', { usage }), done] }],
    expect: { reply: expect.stringMatching(/^Once upon a\n\n\[The reply was cut/), text: 'Once upon a' },
  },
  {
    name: 'LOOP-3 a reply that a content filter ended says so',
    answers: [{ pieces: [chunk({ content: 'How to' }), chunk({}, 'content_filter', { usage }), done] }],
    expect: { reply: expect.stringMatching(/^How to\n\n\[The provider’s content filter/) },
  },
  {
    name: 'LOOP-7 finish_reason error is an error, and tried again',
    answers: [
      { pieces: [chunk({ content: 'Half' }), chunk({ content: '' }, 'error', { usage }), done] },
      plain('Whole.'),
    ],
    expect: { reply: 'Whole.', retries: [expect.stringContaining('error')] },
  },
  {
    name: 'MODEL-1 sources of Perplexity stand under the reply',
    answers: [
      {
        pieces: [
          event({
            id: 'p',
            object: 'chat.completion.chunk',
            citations: ['https://a.example/x'],
            search_results: [{ title: 'Page A', url: 'https://a.example/x', date: '2026-01-02' }],
            choices: [
              {
                index: 0,
                finish_reason: 'stop',
                message: { role: 'assistant', content: 'It rains[1].' },
                delta: { role: 'assistant', content: 'It rains[1].' },
              },
            ],
            usage,
          }),
          done,
        ],
      },
    ],
    expect: { reply: 'It rains[1].\n\nSources:\n1. [Page A](https://a.example/x)' },
  },
  {
    name: 'SESS-7 a context overflow summarizes what came before and asks once more',
    before: ['First: my dog is Rex.', 'Second: he likes cheese.'],
    answers: [
      plain('Noted, Rex.'),
      plain('Noted, cheese.'),
      json(
        {
          error: {
            code: 400,
            message: 'request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it',
            type: 'exceed_context_size_error',
            n_prompt_tokens: 13392,
            n_ctx: 8192,
          },
        },
        400,
      ),
      plain('The user has a dog, Rex, who likes cheese.'),
      plain('Rex, of course.'),
    ],
    expect: { reply: 'Rex, of course.', outcome: 'completed' },
    requests: (seen) => {
      expect(seen).toHaveLength(5)
      expect(JSON.stringify(seen[4]?.body.messages)).toContain('who likes cheese')
    },
  },
  {
    name: 'SESS-7 an overflow that a summary does not cure is said plainly',
    answers: [
      json(
        { error: { message: "This model's maximum context length is 4096 tokens.", code: 'context_length_exceeded' } },
        400,
      ),
    ],
    expect: { status: 502, error: expect.stringContaining('too long for rec/main') },
    requests: (seen) => expect(seen).toHaveLength(1),
  },
  // Last: from then on the daemon offers this model no tools.
  {
    name: 'LOOP-3 a model that takes no tools answers without them, and that is said',
    answers: [
      json(
        { error: { message: 'registry.ollama.ai/library/gemma:2b does not support tools', type: 'api_error' } },
        400,
      ),
      plain('In words.'),
    ],
    expect: { reply: 'In words.\n\n[rec/main cannot use tools, so this reply was written without tools.]' },
    requests: (seen) => expect(seen[1]?.body.tools).toBeUndefined(),
  },
]

describe('recorded streams of OpenAI-compatible providers through a daemon', () => {
  let replay: Awaited<ReturnType<typeof startReplay>>
  let familiar: Awaited<ReturnType<typeof serve>>

  beforeAll(async () => {
    replay = await startReplay()
    familiar = await serve([
      'type = "openai-compatible"',
      `base_url = "${replay.url}/v1"`,
      'api_key_env = "REC_KEY"',
      '[models.main]',
      'model = "m"',
      'max_tokens = 1000',
      'cost_per_mtok = [3.0, 15.0]',
    ])
  })

  afterAll(async () => {
    await cleanUp()
    replay.server.close()
  })

  it.each(cases.map((one, at) => [one.name, { ...one, at }] as const))('%s', async (_name, one) => {
    const { answers, before = [], at } = one
    replay.play(answers)
    const session = `case-${at}`
    for (const message of before) await familiar.say(message, session)
    expect(await familiar.say('Go.', session)).toMatchObject(one.expect)
    one.requests?.(replay.seen)
  })

  it('COST-1 the cost report counts what was estimated', async () => {
    const report = (await familiar.get('/api/v1/cost')) as { calls: number; estimated_calls: number; total_usd: number }
    expect(report.estimated_calls).toBeGreaterThan(0)
    expect(report.estimated_calls).toBeLessThan(report.calls / 2)
    expect(report.total_usd).toBeGreaterThan(0)
  })
})

describe('other wires and providers through a daemon', () => {
  let replay: Awaited<ReturnType<typeof startReplay>>
  beforeAll(async () => {
    replay = await startReplay()
  })
  afterEach(cleanUp)
  afterAll(() => void replay.server.close())

  it('MODEL-2 Ollama: <think> in pieces, and a call beside done_reason stop', async () => {
    const line = (message: object, more: object = { done: false }) =>
      `${JSON.stringify({ model: 'm', message, ...more })}\n`
    const end = { done: true, done_reason: 'stop', prompt_eval_count: 20, eval_count: 5 }
    const call = { function: { name: 'recall_memory', arguments: { query: 'dog' } } }
    replay.play([
      {
        type: 'application/x-ndjson',
        pieces: [
          ...['<think>', 'Look', ' first.</thi', 'nk>'].map((content) => line({ role: 'assistant', content })),
          line({ role: 'assistant', content: '', tool_calls: [call] }),
          line({ role: 'assistant', content: '' }, end),
        ],
      },
      {
        type: 'application/x-ndjson',
        pieces: [line({ role: 'assistant', content: 'Seen.' }), line({ content: '' }, end)],
      },
    ])
    const familiar = await serve(['type = "ollama"', `base_url = "${replay.url}"`, '[models.main]', 'model = "m"'])
    expect(await familiar.say('Go.', 'main')).toMatchObject({
      reply: 'Seen.',
      thinking: 'Look first.',
      tool_calls: [{ name: 'recall_memory' }],
    })
  })

  it('SESS-7 a conversation is summarized before it passes the window of the model that the session chose', async () => {
    const uncounted = (text: string): Recorded => ({ pieces: [chunk({ content: text }), chunk({}, 'stop'), done] })
    replay.play([uncounted('Noted.'), uncounted('The user has a dog, Rex.'), uncounted('Rex.')])
    const familiar = await serve([
      'type = "openai-compatible"',
      `base_url = "${replay.url}/v1"`,
      '[models.main]',
      'model = "m"',
      '[models.small]',
      'model = "s"',
      'max_tokens = 500',
      'max_context_tokens = 6000',
    ])
    await familiar.say('All about my dog, who is called Rex. '.repeat(800), 'main')
    await familiar.post('/api/v1/commands', { line: '/model rec/small', session: 'main' })
    expect(await familiar.say('What is he called?', 'main')).toMatchObject({ reply: 'Rex.' })
    const last = replay.seen.at(-1)
    expect(last?.body.model).toBe('s')
    expect(JSON.stringify(last?.body.messages)).toContain('The user has a dog, Rex.')
    expect(JSON.stringify(last?.body.messages)).not.toContain('All about my dog')
  })

  it('CONF-1 Azure: api-version and api-key in query and headers, and no key in the log', async () => {
    replay.play([plain('From Azure.')])
    const familiar = await serve(
      [
        'type = "openai-compatible"',
        `base_url = "${replay.url}/openai/deployments/gpt"`,
        'headers = { api-key = { env = "AZURE_KEY" } }',
        'query = { api-version = "2024-10-21" }',
        '[models.main]',
        'model = "gpt"',
        'body = { max_tokens = "", max_completion_tokens = 700 }',
      ],
      { AZURE_KEY: 'azure-secret-0123456789' },
    )
    expect((await familiar.say('Say azure-secret-0123456789.', 'main')).reply).toBe('From Azure.')
    const [request] = replay.seen
    expect(request?.path).toBe('/openai/deployments/gpt/chat/completions?api-version=2024-10-21')
    expect(request?.headers['api-key']).toBe('azure-secret-0123456789')
    expect(request?.headers.authorization).toBeUndefined()
    expect(request?.body).toMatchObject({ max_completion_tokens: 700 })
    expect(request?.body.max_tokens).toBeUndefined()
    expect(Object.keys(request?.body ?? {}).at(-1)).toBe('messages')
    expect(JSON.stringify(request?.body)).not.toContain('azure-secret')
    expect(familiar.daemon.stdout()).not.toContain('azure-secret')
  })

  it('CONF-1 OpenRouter: routing of providers in the body', async () => {
    replay.play([plain('Routed.')])
    const familiar = await serve([
      'type = "openai-compatible"',
      `base_url = "${replay.url}/api/v1"`,
      'headers = { HTTP-Referer = "https://example.org", X-Title = "Familiar" }',
      'body = { provider = { order = ["anthropic", "openai"], allow_fallbacks = false } }',
      '[models.main]',
      'model = "anthropic/claude"',
    ])
    expect((await familiar.say('Go.', 'main')).reply).toBe('Routed.')
    expect(replay.seen[0]?.headers['x-title']).toBe('Familiar')
    expect(replay.seen[0]?.body.provider).toEqual({ order: ['anthropic', 'openai'], allow_fallbacks: false })
  })

  it('MODEL-1 a package that is not installed is named with the command that installs it', async () => {
    const familiar = await serve([
      'type = "ai-sdk"',
      'package = "@ai-sdk/mistral"',
      `base_url = "${replay.url}/v1"`,
      '[models.main]',
      'model = "mistral-small-latest"',
    ])
    expect(await familiar.say('Go.', 'main')).toMatchObject({
      status: 502,
      // With the path of the program and of the home, since neither is the usual one here.
      error: expect.stringMatching(
        /Install it with: \/\S+\/bin\/familiar models install @ai-sdk\/mistral --home \/\S+/,
      ),
    })
  })
})
