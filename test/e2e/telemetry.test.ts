import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { OtlpSpan } from '../support/fake-collector/otlp-schema.ts'
import {
  attributesOf,
  type CollectorAnswer,
  startFakeCollector,
} from '../support/fake-collector/start-fake-collector.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const providerAt = (url: string) =>
  `type = "openai-compatible"\nbase_url = "${url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\ncost_per_mtok = [1, 2]\n`

interface Scene {
  familiar: RunningFamiliar
  fake: FakeModel
}

async function open(
  options: { endpoint?: string | undefined; tools?: Parameters<typeof startFamiliar>[0] } = {},
): Promise<Scene> {
  const fake = await startFakeModel()
  closers.push(fake.close)
  const familiar = await startFamiliar({
    toml: '[memory]\nextraction = false\n',
    providers: { fake: providerAt(fake.url) },
    ...options.tools,
    env: {
      FAMILIAR_LOG: 'debug',
      ...(options.endpoint && { OTEL_EXPORTER_OTLP_ENDPOINT: options.endpoint }),
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20canary-of-the-collector',
      OTEL_SERVICE_NAME: 'familiar-test',
    },
  })
  closers.push(() => familiar.close())
  return { familiar, fake }
}

/** A span with all that is under it, by name. */
type Tree = { [name: string]: Tree }
function treeOf(spans: readonly OtlpSpan[], parent: string | undefined): Tree {
  const children = spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .sort((a, b) => (BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1))
  return Object.fromEntries(children.map((span, index) => [`${index + 1} ${span.name}`, treeOf(spans, span.spanId)]))
}

function logLines(home: string): Record<string, unknown>[] {
  const directory = join(home, 'log')
  const text = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'))
  return text.flatMap((lines) => lines.trimEnd().split('\n')).map((line) => JSON.parse(line))
}

const canaries = {
  message: 'canary-message-9a31',
  argument: 'canary-argument-77bc',
  result: 'canary-result-02fd',
  answer: 'canary-answer-e810',
  failure: 'canary-failure-5c44',
}

/** One turn with two rounds of tools, one of which fails, all full of private text. */
async function talk({ familiar, fake }: Scene, headers: Record<string, string> = {}) {
  fake.reply({ toolCalls: [{ name: 'look', input: { at: canaries.argument } }] })
  fake.reply({ toolCalls: [{ name: 'stumble', input: { at: canaries.argument } }] })
  fake.reply({ text: canaries.answer })
  const response = await familiar.request('POST', '/api/v1/chat', { message: canaries.message }, headers)
  expect(response.status).toBe(200)
  return { reply: (await response.json()) as { session_id: string; turn_id: string; reply: string }, response }
}

const tools = {
  extraTools: [
    toolOf('look', async () => said(canaries.result)),
    toolOf('stumble', async () => {
      throw new Error(canaries.failure)
    }),
  ],
}

function expectSilence(text: string): void {
  for (const [name, canary] of Object.entries(canaries)) expect(text.includes(canary), name).toBe(false)
  expect(text).not.toContain('a-key-for-the-fake')
}

describe('a daemon that is looked at', () => {
  it('SCALE-7 a turn with tools is one tree, figures add up, and nothing that was said is in any of it', async () => {
    const collector = await startFakeCollector()
    closers.push(collector.close)
    const scene = await open({ endpoint: collector.origin, tools })
    const { familiar } = scene
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const { reply, response } = await talk(scene, {
      traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
      'x-request-id': 'from-the-proxy',
    })
    expect(reply.reply).toBe(canaries.answer)
    expect(response.headers.get('x-request-id')).toBe('from-the-proxy')
    const scraped = await (await familiar.request('GET', '/metrics')).text()
    const lines = logLines(familiar.home)
    await familiar.daemon.close()

    expect(collector.problems).toEqual([])
    const turn = collector.spans.filter((span) => span.traceId === traceId)
    expect(treeOf(turn, '00f067aa0ba902b7')).toEqual({
      '1 POST /api/v1/chat': {
        '1 invoke_agent familiar': {
          '1 search_memory': {},
          '2 chat main': {},
          '3 execute_tool look': {},
          '4 chat main': {},
          '5 execute_tool stumble': {},
          '6 chat main': {},
        },
      },
    })
    const named = (name: string) => turn.filter((span) => span.name === name).map(attributesOf)
    expect(named('invoke_agent familiar')).toMatchObject([
      {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.conversation.id': reply.session_id,
        'familiar.turn.id': reply.turn_id,
        'familiar.turn.outcome': 'completed',
        'familiar.turn.rounds': 3,
        'familiar.turn.tool_calls': 2,
        'familiar.request.id': 'from-the-proxy',
      },
    ])
    expect(named('chat main')).toHaveLength(3)
    expect(named('chat main')[0]).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'fake',
      'gen_ai.request.model': 'main',
      'gen_ai.usage.input_tokens': expect.any(Number),
    })
    expect(named('execute_tool stumble')).toMatchObject([{ 'gen_ai.tool.name': 'stumble', 'error.type': 'Error' }])
    expect(collector.resource).toMatchObject({ 'service.name': 'familiar-test' })

    expect([...collector.metrics.keys()]).toEqual(
      expect.arrayContaining([
        'gen_ai.client.operation.duration',
        'gen_ai.client.token.usage',
        'gen_ai.invoke_agent.duration',
        'gen_ai.execute_tool.duration',
        'familiar.turns',
        'familiar.turns.running',
        'familiar.messages.waiting',
        'familiar.cost.usd',
        'familiar.recall.duration',
        'db.client.operation.duration',
        'http.server.request.duration',
        'process.memory.usage',
        'process.cpu.time',
      ]),
    )
    expect(scraped).toContain(
      'familiar_turns_total{gen_ai_agent_name="familiar",familiar_turn_outcome="completed"} 1\n',
    )
    expect(scraped).toContain('gen_ai_execute_tool_duration_seconds_count{gen_ai_tool_name="look"} 1\n')
    expect(scraped).toMatch(/^familiar_cost_usd_total\{.*\} \d/m)

    expectSilence(JSON.stringify(collector.requests.map(({ body }) => body)))
    expectSilence(scraped)
    expectSilence(JSON.stringify(lines))
    expect(JSON.stringify([collector.requests.map(({ body }) => body), lines])).not.toContain('canary-of-the-collector')
  })

  it('SCALE-7 every line of a request carries its id, in the file that people read', async () => {
    const { familiar } = await open()
    const { headers } = await familiar.request('GET', '/api/v1/nothing', undefined, { authorization: 'Bearer no' })
    expect(logLines(familiar.home)).toContainEqual(
      expect.objectContaining({ message: 'a request had a wrong token', request: headers.get('x-request-id') }),
    )
  })

  it('SCALE-8 is ready when it takes work, and not any more when it stops', async () => {
    const begun = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const slow = toolOf('slow', async () => {
      begun.resolve()
      await released.promise
      return said('done')
    })
    const { familiar, fake } = await open({ tools: { extraTools: [slow] } })
    const status = async (path: string) => (await fetch(`${familiar.daemon.url}${path}`)).status
    expect(await status('/readyz')).toBe(200)
    fake.reply([{ toolCalls: [{ name: 'slow' }] }, { text: 'Done.' }])
    await familiar.request('POST', '/api/v1/notify', { message: 'go' })
    await begun.promise
    const closed = familiar.daemon.close(10_000)
    expect([await status('/healthz'), await status('/readyz')]).toEqual([200, 503])
    released.resolve()
    await closed
  })

  const answers: Record<string, CollectorAnswer | undefined> = {
    slow: 'hang',
    broken: { status: 500 },
    down: undefined,
  }
  for (const [name, answer] of Object.entries(answers)) {
    it(`SCALE-7 a collector that is ${name} holds up neither a turn nor the stop`, async () => {
      const collector = await startFakeCollector(() => answer ?? 'hang')
      if (answer) closers.push(collector.close)
      else await collector.close()
      const scene = await open({ endpoint: collector.origin, tools })
      const { reply } = await talk(scene)
      expect(reply.reply).toBe(canaries.answer)
      await scene.familiar.daemon.close()
    })
  }
})
