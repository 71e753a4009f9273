import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import type { BuildReply } from '../../src/protocol/custom-tools.ts'
import { respondAsEverydayBuilder } from '../security/everyday-script.ts'
import { hasBubblewrap } from '../support/embedded-sandbox.ts'
import type { ModelRequest } from '../support/fake-model/recorded-request.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import type { Step } from '../support/fake-model/step.ts'
import { type FakeTelegram, startFakeTelegram } from '../support/fake-telegram/start-fake-telegram.ts'
import { type LocalSite, openLocalSite } from '../support/local-site.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { answerWeather, isBuilder } from '../support/weather-build.ts'

const minute = 60_000
const owner = 7_001

let telegram: FakeTelegram
let site: LocalSite
let fake: FakeModel
let familiar: RunningFamiliar | undefined
let clock: ReturnType<typeof createJumpingClock>
let isBuilt = false

beforeEach(async () => {
  isBuilt = false
  clock = createJumpingClock()
  telegram = await startFakeTelegram()
  // Not 127.0.0.1, which inside is the sandbox itself.
  site = await openLocalSite(answerWeather, '127.0.0.2')
  fake = await startFakeModel()
  fake.respondWith((request) => {
    if (isBuilder(request)) return respondAsEverydayBuilder(request, host())
    return request.tools.includes('file_write') ? respondAsSpeaker(request) : { text: 'Nothing.' }
  })
})

afterEach(async () => {
  await familiar?.close()
  familiar = undefined
  await Promise.all([fake, site, telegram].map(({ close }) => close()))
})

const host = () => `127.0.0.2:${site.port}`

/** The time of this machine, until the test skips some of it. Timers that became due then fire. */
function createJumpingClock(): Clock & { jump(milliseconds: number): void } {
  let skipped = 0
  const timers = new Map<() => void, { at: number; timer: NodeJS.Timeout }>()
  const now = () => Date.now() + skipped
  const set = (fire: () => void, at: number) => {
    timers.set(fire, { at, timer: setTimeout(fire, Math.max(0, at - now())) })
  }
  const cancel = (fire: () => void) => {
    clearTimeout(timers.get(fire)?.timer)
    timers.delete(fire)
  }
  return {
    now,
    after(delayMs, task) {
      const fire = () => {
        timers.delete(fire)
        task()
      }
      set(fire, now() + delayMs)
      return () => cancel(fire)
    },
    jump(milliseconds) {
      skipped += milliseconds
      for (const [fire, { at }] of [...timers]) {
        cancel(fire)
        set(fire, at)
      }
    },
  }
}

async function start(home?: string): Promise<RunningFamiliar> {
  familiar = await startFamiliar({
    ...(home !== undefined && { home }),
    clock,
    env: { FAMILIAR_SANDBOX: 'embedded', TELEGRAM_BOT_TOKEN: telegram.token },
    toml: `[telegram]
api_root = "${telegram.apiRoot}"
allowed_ids = [${owner}]
[egress]
allowed_hosts = ["${host()}"]
`,
    providers: {
      fake: `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\n`,
    },
  })
  return familiar
}

/** Has the tool built when it is missing, and calls it from then on. */
function respondAsSpeaker({ messages, toolResults, lastUserText }: ModelRequest): Step {
  const asked = messages.findLastIndex(({ role, text }) => role === 'user' && text !== '')
  const round = messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length
  // Recalled messages come before the new one.
  const [, city] = [...lastUserText.matchAll(/weather in (\w+)/g)].at(-1) ?? []
  if (city === undefined) return { text: 'It waits for your answer.' }
  if (isBuilt && round === 0) return { toolCalls: [{ name: 'cap_weather_lookup', input: { city } }] }
  if (isBuilt) return { text: toolResults.map(({ text }) => text).join('\n') }
  const wanted = { name: 'weather_lookup', description: 'Look up the weather of a city.' }
  return round === 0
    ? { toolCalls: [{ name: 'request_capability', input: wanted }] }
    : { text: 'I am building a weather tool.' }
}

const textsToOwner = () => telegram.chat(owner).map(({ text }) => text)
const questions = () => telegram.chat(owner).filter(({ text }) => text.includes(`contact ${host()}?`))
const seen = (words: string) =>
  expect.poll(() => textsToOwner().join('\n'), { timeout: minute, message: words }).toContain(words)

async function get<Reply>(opened: RunningFamiliar, path: string): Promise<Reply> {
  return (await (await opened.request('GET', path)).json()) as Reply
}

async function stateOfBuild(opened: RunningFamiliar): Promise<string | undefined> {
  const { builds } = await get<{ builds: BuildReply[] }>(opened, '/api/v1/builds')
  return builds[0]?.state
}

it.skipIf(!hasBubblewrap)(
  'CAP-7 SEC-6 a weather tool is built over Telegram with one question, which waits an hour and a restart, and never asks again',
  async () => {
    const before = await start()
    telegram.say(owner, "What's the weather in Austin?")
    await seen('I am building a weather tool.')
    // The first try has read text from outside, so that the second one asks.
    await expect.poll(() => questions().length, { timeout: minute }).toBe(1)
    expect(site.requests.length).toBeGreaterThan(0)
    expect(await stateOfBuild(before)).toBe('waiting')

    clock.jump(60 * minute)
    telegram.say(owner, 'How far is it?')
    await seen('It waits for your answer.')
    expect(await stateOfBuild(before)).toBe('waiting')

    await before.close({ keep: true })
    const after = await start(before.home)
    telegram.say(owner, 'Are you there?')
    const repeated = () => textsToOwner().filter((text) => text === 'It waits for your answer.').length
    await expect.poll(repeated, { timeout: minute }).toBe(2)
    expect(await stateOfBuild(after)).toBe('waiting')
    expect(questions()).toHaveLength(1)

    const yes = questions()[0]?.buttons.find(({ text }) => text === 'Yes')
    telegram.press(owner, yes?.data ?? '')
    await seen('weather_lookup is ready.')
    expect(await stateOfBuild(after)).toBe('complete')
    isBuilt = true

    for (const city of ['Oslo', 'Lisbon', 'Rome']) {
      telegram.say(owner, `And the weather in ${city}?`)
      await seen(`21 degrees in ${city}`)
    }
    for (const city of ['Bergen', 'Porto']) {
      const reply = await after.chat(`What is the weather in ${city}?`, { session: 'another' })
      expect(reply).toMatchObject({ outcome: 'completed', reply: expect.stringContaining(`21 degrees in ${city}`) })
    }
    const cities = site.requests.map(({ url }) => new URL(url, 'http://weather').searchParams.get('city'))
    expect(cities.slice(-5)).toEqual(['Oslo', 'Lisbon', 'Rome', 'Bergen', 'Porto'])
    expect(questions()).toHaveLength(1)
    expect(textsToOwner().filter((text) => text.startsWith('Let '))).toEqual([])
    expect(await get(after, '/api/v1/approvals')).toEqual({ approvals: [] })
    expect(await get(after, '/api/v1/builds/questions')).toEqual({ questions: [] })
    expect(fake.rejections()).toEqual([])
  },
  5 * minute,
)
