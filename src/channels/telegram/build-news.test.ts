import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BuildsHome, openBuilds } from '../../../test/support/builds.ts'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { createIds } from '../../base/ids.ts'
import { silentLogger } from '../../base/logger.ts'
import { createSandbox } from '../../sandbox/sandbox.ts'
import type { Outbox } from '../create-outbox.ts'
import { createOutbox } from '../create-outbox.ts'
import { createBuildNews } from './build-news.ts'
import { questionMark } from './updates.ts'

const seen = { untrusted: false, private: false }
let clock: ManualClock
let home: BuildsHome
let outbox: Outbox
let news: ReturnType<typeof createBuildNews>

beforeEach(async () => {
  clock = createManualClock()
  home = await openBuilds({ sandbox: createSandbox(async () => []), clock })
  const { database, builds } = home
  const rest = {
    user_id: 'max',
    state: 'active',
    last_seq: 0,
    last_input_tokens: 0,
    created_at: 0,
    updated_at: 0,
  } as const
  await database.write(async (writer) => {
    await writer
      .insertInto('sessions')
      .values({ id: 'chat', channel: 'telegram', contact: '7', ...rest })
      .execute()
    await writer
      .insertInto('sessions')
      .values({ id: 'page', channel: 'http', contact: 'main', ...rest })
      .execute()
  })
  outbox = createOutbox({ database, clock, ids: createIds(clock), logger: silentLogger })
  news = createBuildNews({ database, builds, outbox, clock, logger: silentLogger })
  news.start()
})
afterEach(async () => {
  await news.close()
  await outbox.close()
  await home.close()
})

const told = async () => {
  await news.settle()
  return (await outbox.list('max', { limit: 50 })).toReversed()
}

describe('CHAN-1 a build that was requested in a chat', () => {
  it('CHAN-1 asks there, with buttons where only the user’s own answer counts, and reports how it ended', async () => {
    const build = await home.request()
    const asking = new AbortController()
    const { signal } = asking
    const ask = home.builds
      .ask({ build, callId: 'c1', question: 'Which\u202e city?', seen, signal })
      .catch(() => undefined)
    await home.waitForEvent(build, 'question')
    while ((await told()).length < 1) await new Promise(setImmediate)
    const host = { build, host: 'a.example', question: 'May it reach a.example?', seen: { ...seen, untrusted: true } }
    const allow = home.builds.allowsHost({ ...host, signal }).catch(() => undefined)
    while ((await told()).length < 2) await new Promise(setImmediate)
    const secret = { build, callId: 'c3', secret: 'API_KEY', description: 'The key', seen, signal }
    const giving = home.builds.requestSecret(secret).catch(() => undefined)
    await home.waitForEvent(build, 'secret_request')
    while ((await told()).length < 3) await new Promise(setImmediate)
    await home.builds.stop('max', build.id)
    asking.abort()
    await Promise.all([ask, allow, giving])
    const items = await told()
    const hostId = `${build.id}.host.a.example`
    expect(items.map(({ address, key }) => [address, key])).toEqual([
      ['7', `question:${build.id}.c1`],
      ['7', `question:${hostId}`],
      ['7', `question:${build.id}.c3`],
      ['7', `build:${build.id}:end`],
    ])
    expect(items.map(({ payload }) => payload)).toMatchObject([
      { kind: 'text', text: 'Building weather_lookup: Which city?', wantsReply: true, buttons: [] },
      {
        text: expect.stringContaining('untrusted text in view'),
        buttons: [
          [{ text: 'Yes', data: `q:${questionMark(hostId)}:1` }],
          [{ text: 'No', data: `q:${questionMark(hostId)}:2` }],
        ],
      },
      {
        kind: 'secret',
        text: 'Building weather_lookup needs the secret API_KEY: The key',
        questionId: `${build.id}.c3`,
      },
      { kind: 'text', text: 'Building weather_lookup was stopped: It was stopped.' },
    ])
  })

  it("CHAN-1 a build's permission question goes to the user’s chats, wherever the build was requested", async () => {
    await news.close()
    const { database, builds } = home
    const chatsOf = async () => ['7']
    news = createBuildNews({ database, builds, outbox, clock, logger: silentLogger, chatsOf })
    news.start()
    const build = await home.request({ name: 'other_lookup', sessionId: 'page' })
    const asking = new AbortController()
    const host = { build, host: 'a.example', question: 'May it reach a.example?', seen, signal: asking.signal }
    const allow = home.builds.allowsHost(host).catch(() => undefined)
    while ((await told()).length < 1) await new Promise(setImmediate)
    asking.abort()
    await allow
    const [item] = await told()
    expect(item).toMatchObject({ address: '7', payload: { text: expect.stringContaining('a.example') } })
  })

  it('CHAN-1 is reported once, also after a restart, and builds requested elsewhere are not', async () => {
    const build = await home.request()
    await home.builds.stop('max', build.id)
    const elsewhere = await home.request({ name: 'other_lookup', sessionId: 'page' })
    await home.builds.stop('max', elsewhere.id)
    expect(await told()).toHaveLength(1)
    await news.close()
    const { database, builds } = home
    news = createBuildNews({ database, builds, outbox, clock, logger: silentLogger })
    news.start()
    expect(await told()).toHaveLength(1)
  })
})
