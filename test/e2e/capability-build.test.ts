import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BuildEvent, BuildReply } from '../../src/protocol/custom-tools.ts'
import type { ModelRequest } from '../support/fake-model/recorded-request.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import type { Step } from '../support/fake-model/step.ts'
import { type LocalSite, openLocalSite } from '../support/local-site.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { answerWeather, isBuilder, respondAsBuilder, weatherKey } from '../support/weather-build.ts'

const minute = 60_000
const wanted = { name: 'weather_lookup', description: 'Look up the weather of a city by its name.' }

let site: LocalSite
let fake: FakeModel
let familiar: RunningFamiliar
let builderCalls = 0

beforeEach(async () => {
  builderCalls = 0
  // Not 127.0.0.1, which inside is the sandbox itself.
  site = await openLocalSite(answerWeather, '127.0.0.2')
  fake = await startFakeModel()
  fake.respondWith((request) => {
    if (!isBuilder(request)) return respondAsSpeaker(request)
    builderCalls += 1
    return respondAsBuilder(request, host())
  })
  familiar = await start()
}, minute)
afterEach(async () => {
  await familiar.close()
  await fake.close()
  await site.close()
})

function start(home?: string): Promise<RunningFamiliar> {
  return startFamiliar({
    ...(home !== undefined && { home }),
    env: { FAMILIAR_SANDBOX: 'embedded' },
    toml: `[egress]\nallowed_hosts = ["${host()}"]\n[memory]\nconversations = false\nextraction = false\n`,
    providers: {
      fake: `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\n`,
    },
  })
}

function host(): string {
  return `127.0.0.2:${site.port}`
}

/** The one that speaks: looks, asks for what is missing, and from then on calls it. */
function respondAsSpeaker({ messages, toolResults, lastUserText, tools }: ModelRequest): Step {
  const asked = messages.findLastIndex(({ role, text }) => role === 'user' && text !== '')
  const round = messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length
  const said = toolResults.map(({ text }) => text).join('\n')
  const lookUp: Step = { toolCalls: [{ name: 'lookup_capability', input: { query: 'weather' } }] }
  const request: Step = { toolCalls: [{ name: 'request_capability', input: wanted }] }
  const callIt: Step = { toolCalls: [{ name: 'cap_weather_lookup', input: { city: 'Austin' } }] }
  const plans: [RegExp, Step[]][] = [
    [/weather in Austin/, [lookUp, request, { text: 'I am building a weather tool for you.' }]],
    [/tomorrow/, [tools.includes('cap_weather_lookup') ? callIt : { text: 'It is not there.' }, { text: said }]],
    [/tell the Builder/, [answerWith(messages), { text: 'I told the Builder.' }]],
    [/and today/, [request, callIt, { text: said }]],
  ]
  return plans.find(([pattern]) => pattern.test(lastUserText))?.[1][round] ?? { text: 'What?' }
}

/** The id is in the context beside the message. */
function answerWith(messages: ModelRequest['messages']): Step {
  const id = /answer_build, question (\S+)\)/.exec(messages.map(({ text }) => text).join('\n'))?.[1]
  return { toolCalls: [{ name: 'answer_build', input: { question_id: id ?? 'none', answer: 'Celsius' } }] }
}

interface Watched {
  ids: string[]
  events: BuildEvent[]
}

/**
 * Reads a stream of a build until the server ends it or `until` says so; answers questions of the build if asked to.
 */
async function watch(
  path: string,
  seen: Watched,
  options: { after?: string; until?: (event: BuildEvent) => boolean; answers?: boolean } = {},
): Promise<void> {
  const headers = {
    accept: 'text/event-stream',
    ...(options.after !== undefined && { 'last-event-id': options.after }),
  }
  const response = await familiar.request('GET', path, undefined, headers)
  if (!response.ok || !response.body) throw new Error(`${response.status} ${await response.text()}`)
  let rest = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const id = /^id: ?(.+)$/m.exec(block)?.[1]
      const data = /^data: ?(.+)$/m.exec(block)?.[1]
      if (id === undefined || data === undefined) continue
      const event = JSON.parse(data) as BuildEvent
      seen.ids.push(id)
      seen.events.push(event)
      if (options.answers) await answer(event)
      if (options.until?.(event)) return
    }
  }
}

async function answer(event: BuildEvent): Promise<void> {
  if (event.type !== 'question' && event.type !== 'secret_request') return
  const path = `/api/v1/builds/questions/${encodeURIComponent(event.question_id)}`
  const response =
    event.type === 'secret_request'
      ? await familiar.request('POST', `${path}/secret`, { value: weatherKey })
      : await familiar.request('POST', path, { answer: event.question.includes('Celsius') ? 'Celsius' : 'yes' })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
}

async function listBuilds(): Promise<BuildReply[]> {
  const response = await familiar.request('GET', '/api/v1/builds')
  return ((await response.json()) as { builds: BuildReply[] }).builds
}

describe('a tool that was not there', () => {
  it(
    'CAP-1 CAP-3 CAP-7 is asked for, built, watched by two, called in a fresh sandbox and never built again',
    async () => {
      const reply = await familiar.chat("What's the weather in Austin?")
      expect(reply.reply).toBe('I am building a weather tool for you.')
      const [build] = await listBuilds()
      expect(build).toMatchObject({ name: 'weather_lookup', state: 'running', session_id: reply.session_id })

      const leaving: Watched = { ids: [], events: [] }
      const staying: Watched = { ids: [], events: [] }
      const path = `/api/v1/builds/${build?.id}/events`
      const stayed = watch(`/api/builder/status?buildId=${build?.id}`, staying)
      await watch(path, leaving, { until: ({ type }) => type === 'question' })
      const question = leaving.events.at(-1)
      if (question) await answer(question)
      await watch(path, leaving, { after: leaving.ids.at(-1) ?? '', answers: true })
      await stayed

      expect(leaving.ids).toEqual(leaving.ids.map((_, index) => String(index + 1)))
      expect(staying.ids).toEqual(leaving.ids)
      expect(staying.events.map(({ type }) => type)).toEqual(leaving.events.map(({ type }) => type))
      const asked = leaving.events.map(({ type }) => type).filter((type) => type !== 'progress')
      // The first question: the first run brought untrusted text, so the user must allow the host for the second.
      expect(asked).toEqual(['question', 'answer', 'question', 'answer', 'secret_request', 'answer', 'complete'])
      expect(leaving.events.at(-1)).toMatchObject({ type: 'complete', name: 'weather_lookup', version: 1 })

      await fake.until(() => builderCalls === 8)
      const builderRequests = fake.requests.filter(({ bytes }) => bytes.includes('You build one capability'))
      const built = builderRequests.at(-1)?.bytes ?? ''
      expect(built).toContain("KeyError: 'temp'")
      expect(built).toContain('The user answers: Celsius')
      expect(built).toContain('WEATHER_KEY is set.')
      expect(built).toContain('It was not registered')
      expect(fake.requests.filter(({ bytes }) => bytes.includes(weatherKey))).toEqual([])
      expect(JSON.stringify(leaving.events)).not.toContain(weatherKey)

      const calledBefore = site.requests.length
      const tomorrow = await familiar.chat("How about tomorrow's forecast?")
      expect(tomorrow.reply).toContain('21 °C in Austin, from a fresh sandbox')
      expect(site.requests.length).toBe(calledBefore + 1)
      expect(site.requests.at(-1)).toMatchObject({ url: '/keyed?city=Austin', headers: { 'x-key': weatherKey } })
      const told = fake.requests.filter(({ bytes }) => bytes.includes('The capability weather_lookup is ready'))
      expect(told.length).toBeGreaterThan(0)

      // In a conversation without untrusted text: there, a request is not asked about.
      const today = await familiar.chat('And how is it, and today?', { session: 'other' })
      expect(today.reply).toContain('21 °C in Austin, from a fresh sandbox')
      expect(await listBuilds()).toMatchObject([{ id: build?.id, state: 'complete' }])
      expect(builderCalls).toBe(8)
      expect(fake.rejections()).toEqual([])
    },
    2 * minute,
  )

  it(
    'CAP-3 CAP-7 continues after a restart, and is answered in the conversation',
    async () => {
      await familiar.chat("What's the weather in Austin?")
      const [build] = await listBuilds()
      const path = `/api/v1/builds/${build?.id}/events`
      const seen: Watched = { ids: [], events: [] }
      await watch(path, seen, { until: ({ type }) => type === 'question' })
      const host = seen.events.at(-1)
      if (host) await answer(host)
      const rest = { after: seen.ids.at(-1) ?? '', until: ({ type }: BuildEvent) => type === 'question' }
      await watch(path, seen, rest)
      await familiar.close({ keep: true })
      familiar = await start(familiar.home)
      expect(await listBuilds()).toMatchObject([{ id: build?.id, state: 'waiting' }])
      const told = await familiar.chat('Please tell the Builder: Celsius')
      expect(told.reply).toBe('I told the Builder.')
      await watch(path, seen, { after: seen.ids.at(-1) ?? '', answers: true })
      expect(seen.ids).toEqual(seen.ids.map((_, index) => String(index + 1)))
      expect(seen.events.at(-1)).toMatchObject({ type: 'complete', version: 1 })
      const answers = seen.events.flatMap((event) => (event.type === 'answer' ? [event.answer] : []))
      expect(answers.slice(0, 2)).toEqual(['Yes', 'Celsius'])
      expect(fake.rejections()).toEqual([])
    },
    2 * minute,
  )
})
