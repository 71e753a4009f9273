import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { type ReceivedEvent, readEvents } from './http-support.ts'
import { serveInTests } from './serve-in-tests.ts'

const serve = serveInTests()
const path = '/api/v1/sessions/main/events'
const isEnd = ({ name }: ReceivedEvent) => name === 'turn_end'

describe('the events of a session', () => {
  it('HTTP-4 a client that is cut off after every few events loses nothing and sees nothing twice', async () => {
    const text = Array.from({ length: 200 }, (_, index) => `word${index} `).join('')
    const reply = { thinking: 'Let me think about it.', text, deltaLength: 7, deltaDelayMs: 1 }
    const model = createScriptedModel({ script: () => reply, clock: systemClock() })
    const served = await serve({ model })
    await served.familiar.say('first', { channel: 'http' })
    const { messageId } = await served.familiar.conversations.submit(
      served.familiar.inbound('second', { channel: 'http' }),
    )

    const received: ReceivedEvent[] = []
    let cuts = 0
    for (let ends = 0; ends < 2; ) {
      const last = received.at(-1)?.id
      const { request, response } = await served.open({ path, headers: last ? { 'last-event-id': last } : {} })
      let left = 1 + ((cuts * 3) % 5)
      const part = await readEvents(response, (event) => {
        if (isEnd(event)) ends += 1
        left -= 1
        return left === 0 || ends === 2
      })
      received.push(...part)
      request.destroy()
      cuts += 1
    }

    // Quick deltas are joined in one event, so their number depends on the machine.
    expect(cuts).toBeGreaterThan(3)
    const deltas = (name: string) => received.filter((event) => event.name === name).map(({ data }) => data.text)
    expect(deltas('text_delta').join('')).toBe(text + text)
    expect(deltas('thinking_delta').join('')).toBe(reply.thinking + reply.thinking)
    const others = received.filter(({ name }) => !name.endsWith('_delta')).map(({ name }) => name)
    const turn = ['message', 'turn_start', 'cost', 'response', 'turn_end']
    expect(others).toEqual([...turn, ...turn])
    expect(received.find(({ data }) => data.messageId === messageId)?.data.text).toBe('second')
  })

  it('HTTP-4 ?after= is the same as the header, which wins; no cursor means from the beginning', async () => {
    const served = await serve()
    await served.familiar.say('Hello', { channel: 'http' })
    const read = async (query: string, headers = {}) => {
      const { request, response } = await served.open({ path: path + query, headers })
      const events = await readEvents(response, isEnd)
      request.destroy()
      return events
    }
    const all = await read('')
    expect(all.map(({ name }) => name)[0]).toBe('message')
    const id = all[2]?.id ?? ''
    expect(await read(`?after=${id}`)).toEqual(all.slice(3))
    expect(await read(`?after=${id}`, { 'last-event-id': all[0]?.id ?? '' })).toEqual(all.slice(1))
  })

  it('HTTP-4 a quiet stream shows every 15 seconds that it is alive', async () => {
    const clock = createManualClock()
    const served = await serve({ clock })
    await served.familiar.say('Hello', { channel: 'http' })
    const { request, response } = await served.open({ path })
    const seen: string[] = []
    const reading = readEvents(
      response,
      ({ name }) => seen.push(name) > 0 && seen.filter((n) => n === ':').length === 3,
    )
    while (!seen.includes('turn_end')) await new Promise((resolve) => setTimeout(resolve, 2))
    await clock.advance(14_999)
    expect(seen).not.toContain(':')
    await clock.advance(1)
    await clock.advance(15_000)
    await clock.advance(15_000)
    await reading
    expect(seen.slice(-3)).toEqual([':', ':', ':'])
    request.destroy()
  })

  it('HTTP-4 a session’s stream reports changes of the session', async () => {
    const served = await serve()
    await served.familiar.say('Hello', { channel: 'http' })
    const { response } = await served.open({ path })
    const reading = readEvents(response, ({ data }) => data.change === 'reset')
    await served.call({ path: '/api/v1/sessions/main/mark', body: { name: 'here' } })
    await served.call({ path: '/api/v1/sessions/reset', body: { target: 'main' } })
    const changes = (await reading).filter(({ name }) => name === 'session_changed').map(({ data }) => data.change)
    expect(changes).toEqual(['marked', 'reset'])
  })

  it('SEC-18 streams have a limit, and one that ends makes room', async () => {
    const served = await serve({ settings: { maxStreams: 2 } })
    await served.familiar.say('Hello', { channel: 'http' })
    const first = await served.open({ path })
    const second = await served.open({ path })
    expect(await served.call({ path })).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
    const chat = { path: '/api/v1/chat', body: { message: 'x' }, headers: { accept: 'text/event-stream' } }
    expect((await served.call(chat)).status).toBe(429)
    expect((await served.call({ path: '/api/v1/status' })).status).toBe(200)
    first.request.destroy()
    const retry = async () => (await served.open({ path })).response.statusCode
    await expect.poll(retry, { interval: 5 }).toBe(200)
    second.request.destroy()
    // The message of the refused stream was never taken.
    const history = await served.call({ path: '/api/v1/sessions/main/history' })
    expect(history.json.events).toHaveLength(2)
  })

  it('SEC-18 a HEAD opens no stream', async () => {
    const served = await serve({ settings: { maxStreams: 1 } })
    await served.familiar.say('Hello', { channel: 'http' })
    expect((await served.call({ path, method: 'HEAD' })).status).toBe(400)
    expect((await served.open({ path })).response.statusCode).toBe(200)
  })

  it('HTTP-4 a server that stops ends its streams and does not wait for them', async () => {
    const served = await serve()
    await served.familiar.say('Hello', { channel: 'http' })
    const { response } = await served.open({ path })
    const reading = readEvents(response)
    // Longer than any test may take.
    await served.server.close(600_000)
    expect((await reading).at(-1)?.name).toBe('turn_end')
  })
})
