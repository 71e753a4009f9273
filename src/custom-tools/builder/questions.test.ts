import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BuildsHome, openBuilds } from '../../../test/support/builds.ts'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { toolContext } from '../../../test/support/tool-context.ts'
import { createSandbox } from '../../sandbox/sandbox.ts'
import { secretOwnerOf } from '../built-catalog.ts'
import type { Build } from './builds.ts'
import { createAnswerBuild } from './tools.ts'

const secretValue = 'kestrel-41-lantern'

let clock: ManualClock
let home: BuildsHome
let build: Build

beforeEach(async () => {
  clock = createManualClock()
  home = await openBuilds({ sandbox: createSandbox(async () => []), clock })
  build = await home.request()
})
afterEach(() => home.close())

const everythingOfBuilds = async () => {
  const tables = ['builds', 'build_events', 'build_questions', 'build_files', 'capabilities', 'secrets'] as const
  const rows = tables.map((table) => home.database.read.selectFrom(table).selectAll().execute())
  return JSON.stringify(await Promise.all<unknown>(rows))
}

describe('a question', () => {
  it('CAP-7 waits for its answer, which is reported and stored', async () => {
    const asking = home.call(build, 'ask_user', { question: 'Which unit?' }, { callId: 'c1' })
    const { question_id, expires_at } = await home.waitForEvent(build, 'question')
    expect(question_id).toBe(`${build.id}.c1`)
    expect(Date.parse(expires_at) - clock.now()).toBe(60_000)
    expect(await home.builds.questions('max')).toMatchObject([{ id: question_id, question: 'Which unit?' }])
    await home.builds.answer('max', question_id, 'metric')
    expect(await asking).toEqual({ text: 'The user answers: metric', isError: false })
    expect(await home.eventsOf(build)).toMatchObject([
      { type: 'progress' },
      { type: 'question' },
      { type: 'answer', question_id, answer: 'metric', is_expired: false },
    ])
    expect(await home.builds.questions('max')).toEqual([])
    await expect(home.builds.answer('max', question_id, 'x')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('LOOP-4a CAP-7 offers options, and a number stands for one', async () => {
    const input = { question: 'Which unit?', options: [{ label: 'metric' }, { label: 'imperial' }], allow_text: false }
    const asking = home.call(build, 'ask_user', input, { callId: 'c1' })
    const { question_id, options } = await home.waitForEvent(build, 'question')
    expect(options).toEqual(input.options)
    const choices = { options: input.options, allowText: false, multiple: false }
    expect(await home.builds.questions('max')).toMatchObject([{ id: question_id, choices }])
    const refused = { code: 'bad_request', message: expect.stringContaining('1. metric, 2. imperial') }
    await expect(home.builds.answer('max', question_id, 'kelvin')).rejects.toMatchObject(refused)
    await home.builds.answer('max', question_id, '2')
    expect(await asking).toEqual({ text: 'The user answers: imperial', isError: false })
  })

  it('CAP-7 reports a missing answer to the Builder after a minute', async () => {
    const asking = home.call(build, 'ask_user', { question: 'Which unit?' }, { callId: 'c1' })
    await home.waitForEvent(build, 'question')
    await clock.advance(59_999)
    expect(await home.builds.questions('max')).toHaveLength(1)
    await clock.advance(1)
    expect(await asking).toMatchObject({
      isError: false,
      text: expect.stringContaining('No answer came'),
    })
    expect((await home.eventsOf(build)).at(-1)).toMatchObject({ type: 'answer', answer: null, is_expired: true })
    await expect(home.builds.answer('max', `${build.id}.c1`, 'x')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('CAP-7 asked again by the same call it is the same question', async () => {
    const stopped = new AbortController()
    const cutOff = home.call(build, 'ask_user', { question: 'Which unit?' }, { callId: 'c1', signal: stopped.signal })
    await home.waitForEvent(build, 'question')
    stopped.abort()
    await expect(cutOff).rejects.toThrow()
    await clock.advance(59_000)
    await home.builds.answer('max', `${build.id}.c1`, 'metric')
    const again = await home.call(build, 'ask_user', { question: 'Which unit?' }, { callId: 'c1' })
    expect(again.text).toBe('The user answers: metric')
    expect((await home.eventsOf(build)).map(({ type }) => type)).toEqual(['progress', 'question', 'answer'])
  })

  it('CAP-7 expires even if no build waits for it any more', async () => {
    const stopped = new AbortController()
    const cutOff = home.call(build, 'ask_user', { question: 'Which unit?' }, { callId: 'c1', signal: stopped.signal })
    await home.waitForEvent(build, 'question')
    stopped.abort()
    await expect(cutOff).rejects.toThrow()
    await clock.advance(60_000)
    expect(await home.builds.questions('max')).toEqual([])
    await expect(home.builds.answer('max', `${build.id}.c1`, 'x')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('CAP-3 is closed when its build has ended', async () => {
    const asking = home.call(build, 'ask_user', { question: 'Which unit?' }, { callId: 'c1' })
    await home.waitForEvent(build, 'question')
    await home.builds.stop('max', build.id)
    expect((await asking).text).toContain('No answer came')
    await expect(home.builds.answer('max', `${build.id}.c1`, 'x')).rejects.toMatchObject({ code: 'conflict' })
    expect(await home.builds.questions('max')).toEqual([])
    const { signal } = new AbortController()
    const late = { build, callId: 'c2', question: 'And now?', seen: { untrusted: false, private: false }, signal }
    await expect(home.builds.ask(late)).rejects.toMatchObject({ code: 'conflict' })
    expect((await home.eventsOf(build)).at(-1)).toMatchObject({ type: 'error' })
  })
})

describe('a permission', () => {
  const host = {
    host: 'api.example',
    question: 'May it reach api.example? yes or no',
    seen: { untrusted: true, private: true },
  }
  const id = () => `${build.id}.host.api.example`

  it('CAP-7 waits as long as it takes, and the build is waiting, not failed', async () => {
    const { signal } = new AbortController()
    const asking = home.builds.allowsHost({ build, ...host, signal })
    await home.waitForEvent(build, 'question')
    for (let day = 0; day < 3; day += 1) await clock.advance(24 * 60 * 60_000)
    expect(await home.builds.find('max', build.id)).toMatchObject({ state: 'running', isWaiting: true })
    expect(await home.builds.questions('max')).toMatchObject([{ id: id() }])
    await expect(home.builds.answer('max', id(), 'what is that?')).rejects.toMatchObject({ code: 'bad_request' })
    await home.builds.answer('max', id(), 'Sure, go ahead')
    expect(await asking).toBe(true)
    expect(await home.builds.find('max', build.id)).toMatchObject({ state: 'running', isWaiting: false })
  })

  it('CAP-7 is answered after a restart, before or after the Builder asks again', async () => {
    const stopped = new AbortController()
    const cutOff = home.builds.allowsHost({ build, ...host, signal: stopped.signal })
    await home.waitForEvent(build, 'question')
    stopped.abort()
    await expect(cutOff).rejects.toThrow()
    await clock.advance(60 * 60_000)
    await home.builds.answer('max', id(), 'yes')
    expect(await home.builds.allowsHost({ build, ...host, signal: new AbortController().signal })).toBe(true)
    expect((await home.eventsOf(build)).filter(({ type }) => type === 'question')).toHaveLength(1)
  })

  it('CAP-3 a build that waits for one can be stopped', async () => {
    const asking = home.builds.allowsHost({ build, ...host, signal: new AbortController().signal })
    await home.waitForEvent(build, 'question')
    await home.builds.stop('max', build.id)
    expect(await asking).toBe(false)
    expect(await home.builds.find('max', build.id)).toMatchObject({ state: 'stopped', isWaiting: false })
    expect(await home.builds.questions('max')).toEqual([])
  })
})

describe('a secret', () => {
  it('SEC-13 CAP-7 goes into the vault, and is nowhere else', async () => {
    const asking = home.call(build, 'request_secret', { name: 'API_KEY', description: 'From the service' })
    const { question_id, secret } = await home.waitForEvent(build, 'secret_request')
    expect(secret).toBe('API_KEY')
    const { lines } = await home.builds.news({ userId: 'max', sessionId: 'chat' })
    expect(lines[0]).toContain('familiar caps secret weather_lookup API_KEY')
    await expect(home.builds.answer('max', question_id, secretValue)).rejects.toMatchObject({ code: 'bad_request' })
    await home.builds.giveSecret('max', question_id, secretValue)
    expect(await asking).toEqual({ text: 'API_KEY is set.', isError: false })
    const owner = secretOwnerOf('weather_lookup')
    expect(await home.vault.get({ userId: 'max', owner, name: 'API_KEY' })).toBe(secretValue)
    expect((await home.eventsOf(build)).at(-1)).toMatchObject({ type: 'answer', answer: null, is_expired: false })
    expect(await everythingOfBuilds()).not.toContain(secretValue)
  })

  it('CAP-7 that was entered in another way is noticed, and one that is there is not asked for', async () => {
    const asking = home.call(build, 'request_secret', { name: 'API_KEY', description: 'From the service' })
    await home.waitForEvent(build, 'secret_request')
    await home.setSecret('weather_lookup', 'API_KEY', secretValue)
    await home.builds.noticeSecret('max', 'weather_lookup', 'API_KEY')
    expect((await asking).text).toBe('API_KEY is set.')
    const again = await home.call(build, 'request_secret', { name: 'API_KEY', description: 'From the service' })
    expect(again.text).toBe('API_KEY is set.')
    expect(await home.builds.questions('max')).toEqual([])
  })

  it('CAP-7 a crash between the vault and the answer loses neither', async () => {
    const stopped = new AbortController()
    const request = { name: 'API_KEY', description: 'From the service' }
    const cutOff = home.call(build, 'request_secret', request, { callId: 'c1', signal: stopped.signal })
    await home.waitForEvent(build, 'secret_request')
    stopped.abort()
    await expect(cutOff).rejects.toThrow()
    await home.setSecret('weather_lookup', 'API_KEY', secretValue)
    expect((await home.call(build, 'request_secret', request, { callId: 'c1' })).text).toBe('API_KEY is set.')
    expect((await home.eventsOf(build)).at(-1)).toMatchObject({ type: 'answer', is_expired: false })
  })

  it('CAP-7 that is never entered is not set', async () => {
    const asking = home.call(build, 'request_secret', { name: 'API_KEY', description: 'From the service' })
    await home.waitForEvent(build, 'secret_request')
    await clock.advance(60_000)
    expect((await asking).text).toContain('API_KEY is not set')
  })
})

describe('answer_build', () => {
  const answerWith = (answer: string, more: Parameters<typeof toolContext>[0] = {}) =>
    createAnswerBuild({ builds: home.builds }).run({ question_id: `${build.id}.c1`, answer }, toolContext(more))

  it('CAP-7 hands an answer on from any conversation', async () => {
    const asking = home.call(build, 'ask_user', { question: 'Which unit?' }, { callId: 'c1' })
    await home.waitForEvent(build, 'question')
    expect(await answerWith('metric', { userText: 'metric, please' })).toMatchObject({ isError: false })
    expect(await asking).toEqual({ text: 'The user answers: metric', isError: false })
    expect(await answerWith('imperial')).toMatchObject({ isError: true })
  })

  it('SEC-17 an answer that a model wrote carries what its conversation had read', async () => {
    const asking = home.call(build, 'ask_user', { question: 'Which place?' }, { callId: 'c1' })
    await home.waitForEvent(build, 'question')
    await answerWith('Lisbon', { userText: 'where I live', seen: { untrusted: true, private: true } })
    expect(await asking).toMatchObject({ label: 'untrusted', isPrivate: true })
  })

  it('SEC-13 never takes a secret', async () => {
    const stopped = new AbortController()
    const request = { name: 'API_KEY', description: 'From the service' }
    const asking = home.call(build, 'request_secret', request, { callId: 'c1', signal: stopped.signal })
    await home.waitForEvent(build, 'secret_request')
    const answered = await answerWith(secretValue)
    expect(answered).toMatchObject({ isError: true })
    expect(await home.eventsOf(build)).toHaveLength(2)
    stopped.abort()
    await expect(asking).rejects.toThrow()
  })

  it('SEC-6 acts later, so after text from outside the user is asked first', () => {
    const tool = createAnswerBuild({ builds: home.builds })
    const reach = tool.reach({ question_id: `${build.id}.c1`, answer: 'x' })
    expect(reach).toEqual({ kind: 'change', destination: `build:${build.id}` })
  })
})
