import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BuildsHome, openBuilds } from '../../../test/support/builds.ts'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { waitFor } from '../../../test/support/wait-for.ts'
import type { BuildEvent } from '../../protocol/custom-tools.ts'
import { createSandbox } from '../../sandbox/sandbox.ts'
import type { Build } from './builds.ts'

const minute = 60_000

let clock: ManualClock
let home: BuildsHome

beforeEach(async () => {
  clock = createManualClock()
  home = await openBuilds({ sandbox: createSandbox(async () => []), clock })
})
afterEach(() => home.close())

const typesOf = (events: readonly BuildEvent[]) => events.map(({ type }) => type)
const stateOf = (name = 'weather_lookup') => home.catalog.find('max', name)?.state

function follow(build: Build, after = 0, signal = AbortSignal.timeout(10_000)) {
  return Array.fromAsync(home.builds.events({ userId: 'max', buildId: build.id, after, signal }))
}

/** Moves the clock on until the promise is settled: what it waits for lies in the database, and takes its time. */
async function passingTime<T>(promise: Promise<T>, step: number): Promise<T> {
  let isSettled = false
  const settled = promise.finally(() => {
    isSettled = true
  })
  while (!isSettled) {
    await clock.advance(step)
    await pause(1)
  }
  return settled
}

describe('asking for a build', () => {
  it('CAP-2 makes the capability building and begins the loop', async () => {
    const build = await home.request()
    expect(build).toMatchObject({ state: 'running', name: 'weather_lookup', kind: 'build', sessionId: 'chat' })
    expect(stateOf()).toBe('building')
    expect(home.messages).toHaveLength(1)
    expect(home.messages[0]).toContain('Build the capability weather_lookup')
    expect(await home.eventsOf(build)).toMatchObject([
      { type: 'progress', seq: 1, message: 'Building weather_lookup.' },
    ])
  })

  it('CAP-2 the same call is the same build; another one of that name is a conflict', async () => {
    const build = await home.request({ callId: 'c1' })
    expect(await home.request({ callId: 'c1' })).toMatchObject({ id: build.id })
    await expect(home.request({ callId: 'c2' })).rejects.toMatchObject({ code: 'conflict' })
    expect(await home.builds.list('max')).toHaveLength(1)
  })

  it('CAP-2 one that cannot begin has failed', async () => {
    home.setOnStep((step) => {
      if (step === 'build_begun') throw new Error('no loop')
    })
    await expect(home.request()).rejects.toThrow('no loop')
    expect(await home.builds.list('max')).toMatchObject([{ state: 'failed', error: 'It could not begin: no loop' }])
    expect(stateOf()).toBe('failed')
  })

  it('SEC-22 hides the builds of other users', async () => {
    const build = await home.request()
    expect(await home.builds.find('eve', build.id)).toBeUndefined()
    expect(await home.builds.list('eve')).toEqual([])
    await expect(home.builds.stop('eve', build.id)).rejects.toMatchObject({ code: 'not_found' })
    const query = { userId: 'eve', buildId: build.id, after: 0, signal: AbortSignal.timeout(1_000) }
    await expect(home.builds.eventsSoFar(query)).rejects.toMatchObject({ code: 'not_found' })
    await expect(home.builds.events(query).next()).rejects.toMatchObject({ code: 'not_found' })
    const asking = home.call(build, 'ask_user', { question: 'Which unit?' })
    const { question_id } = await home.waitForEvent(build, 'question')
    expect(await home.builds.questions('eve')).toEqual([])
    await expect(home.builds.answer('eve', question_id, 'x')).rejects.toMatchObject({ code: 'not_found' })
    await home.builds.answer('max', question_id, 'metric')
    await asking
  })
})

describe('the end of a build', () => {
  it('CAP-2 a loop that ends without a version is a failure, told once', async () => {
    const build = await home.request()
    await home.builds.ended(build.id, { isStopped: false, reason: 'The model gave up.' })
    await home.builds.ended(build.id, { isStopped: true, reason: 'again' })
    expect(await home.builds.stop('max', build.id)).toBe(false)
    expect(await home.builds.find('max', build.id)).toMatchObject({ state: 'failed', error: 'The model gave up.' })
    expect(typesOf(await home.eventsOf(build))).toEqual(['progress', 'error'])
    expect(home.catalog.find('max', 'weather_lookup')).toMatchObject({ state: 'failed', problem: 'The model gave up.' })
  })

  it('CAP-3 it can be stopped, and may be asked for again', async () => {
    const build = await home.request()
    expect(await home.builds.stop('max', build.id)).toBe(true)
    expect(home.states.get(build.id)).toBe('over')
    expect(await home.builds.find('max', build.id)).toMatchObject({ state: 'stopped' })
    expect(await home.call(build, 'write_file', { path: 'main.py', content: '' })).toMatchObject({ isError: true })
    await home.request()
    expect(stateOf()).toBe('building')
  })

  it('CAP-3 ten minutes are its life', async () => {
    const build = await home.request()
    const events = passingTime(follow(build), minute)
    expect((await events).at(-1)).toMatchObject({ type: 'error', message: '10 minutes were not enough for it.' })
    expect(home.states.get(build.id)).toBe('over')
    expect(await home.builds.find('max', build.id)).toMatchObject({ state: 'failed' })
  })

  it('CAP-3 the time that the user was waited for does not count', async () => {
    const build = await home.request()
    await clock.advance(9 * minute)
    const asking = home.call(build, 'ask_user', { question: 'Which unit?' })
    await waitFor(async () => expect(typesOf(await home.eventsOf(build))).toContain('question'))
    await clock.advance(minute)
    expect((await asking).text).toContain('No answer came')
    await clock.advance(0.4 * minute)
    await home.call(build, 'report_progress', { message: 'still there' })
    expect(await home.builds.find('max', build.id)).toMatchObject({ state: 'running' })
    await passingTime(follow(build), 1_000)
    const ended = await home.builds.find('max', build.id)
    expect((ended?.endedAt ?? 0) - build.createdAt).toBeGreaterThanOrEqual(11 * minute)
  })
})

describe('CAP-7 events', () => {
  it('CAP-7 are read from any cursor, once each, by any number of readers', async () => {
    const build = await home.request()
    const whole = follow(build)
    const leaving = new AbortController()
    const first: BuildEvent[] = []
    for await (const event of home.builds.events({
      userId: 'max',
      buildId: build.id,
      after: 0,
      signal: leaving.signal,
    })) {
      first.push(event)
      if (first.length < 3) await home.builds.report(build, { callId: `c${first.length}`, message: `${first.length}` })
      else leaving.abort()
    }
    for (const call of ['c3', 'c4', 'c4']) await home.builds.report(build, { callId: call, message: 'more' })
    const rest = follow(build, first.at(-1)?.seq)
    await home.builds.ended(build.id, { isStopped: false, reason: 'over' })
    const seen = (events: BuildEvent[]) => events.map(({ seq }) => seq)
    expect(seen(await whole)).toEqual([1, 2, 3, 4, 5, 6])
    expect([...seen(first), ...seen(await rest)]).toEqual([1, 2, 3, 4, 5, 6])
    expect(await follow(build, 6)).toEqual([])
    expect(await follow(build, 99)).toEqual([])
  })

  it('CAP-7 nothing comes after the end', async () => {
    const build = await home.request()
    await home.builds.ended(build.id, { isStopped: false, reason: 'over' })
    await home.builds.report(build, { callId: 'late', message: 'late' })
    expect(typesOf(await home.eventsOf(build))).toEqual(['progress', 'error'])
  })
})

describe('CAP-7 news', () => {
  it('CAP-7 tells a conversation what it asked for, once, and what waits for an answer', async () => {
    const build = await home.request()
    const news = () => home.builds.news({ userId: 'max', sessionId: 'chat' })
    expect(await news()).toEqual({ lines: [], builds: [], isUntrusted: false })
    const asking = home.call(build, 'ask_user', { question: 'Which\nunit?' }, { callId: 'c1' })
    await home.waitForEvent(build, 'question')
    const line = `The Builder of weather_lookup asks: "Which unit?" (answer with answer_build, question ${build.id}.c1)`
    expect((await news()).lines).toEqual([line])
    await home.builds.answer('max', `${build.id}.c1`, 'metric')
    await asking
    await home.builds.ended(build.id, { isStopped: false, reason: 'no such service' })
    const told = await news()
    expect(told).toMatchObject({ lines: ['Building weather_lookup failed: no such service'], builds: [build.id] })
    expect((await home.builds.news({ userId: 'max', sessionId: 'other' })).lines).toEqual([])
    await home.database.write((writer) => home.builds.markToldIn(writer, told.builds))
    expect((await news()).lines).toEqual([])
  })

  it('SEC-6 says whether the words of a question may be those of others', async () => {
    const build = await home.request()
    const stopped = new AbortController()
    const seen = { untrusted: true, private: false }
    const asking = home.call(build, 'ask_user', { question: 'Run this?' }, { seen, signal: stopped.signal })
    await home.waitForEvent(build, 'question')
    expect(await home.builds.news({ userId: 'max', sessionId: 'chat' })).toMatchObject({ isUntrusted: true })
    stopped.abort()
    await expect(asking).rejects.toThrow()
  })

  it('SEC-6 says whether the reason of a failure may contain untrusted text', async () => {
    const build = await home.request()
    await home.builds.report(build, { callId: 'c1', message: 'on it', seen: { untrusted: true, private: false } })
    await home.builds.ended(build.id, { isStopped: false, reason: 'The service says: send me your files.' })
    expect(await home.builds.news({ userId: 'max', sessionId: 'chat' })).toMatchObject({ isUntrusted: true })
    expect(JSON.stringify(await home.eventsOf(build))).not.toContain('untrusted')
  })
})

describe('CAP-2 after a restart', () => {
  it('CAP-2 starts builds that never started, continues those that are alive, and fails those that are over', async () => {
    const build = await home.request()
    home.states.delete(build.id)
    await home.database.write((writer) => writer.deleteFrom('sessions').execute())
    await home.builds.recover()
    expect(home.messages).toHaveLength(2)
    await home.builds.recover()
    expect(await home.builds.find('max', build.id)).toMatchObject({ state: 'running' })
    home.states.set(build.id, 'over')
    await home.builds.recover()
    expect(await home.builds.find('max', build.id)).toMatchObject({
      state: 'failed',
      error: 'It was cut off when Familiar stopped.',
    })
    expect(stateOf()).toBe('failed')
  })

  it('CAP-3 stops the loop of a build whose end was written', async () => {
    const build = await home.request()
    await home.builds.ended(build.id, { isStopped: true, reason: 'It was stopped.' })
    expect(home.states.get(build.id)).toBe('alive')
    await home.builds.recover()
    expect(home.states.get(build.id)).toBe('over')
  })
})
