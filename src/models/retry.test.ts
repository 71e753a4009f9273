import { describe, expect, it } from 'vitest'
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { createScriptedModel, type ScriptedReply } from '../../test/support/scripted-model.ts'
import { type LanguageModel, ModelError, type ModelErrorCode, type ModelRequest } from './model.ts'
import { type RetriedStreamEvent, type RetryOptions, streamWithRetries } from './retry.ts'

const request: ModelRequest = {
  system: [],
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
  tools: [],
  maxTokens: 100,
  loadMedia: async () => new Uint8Array(),
}

function failure(code: ModelErrorCode, fields: { retryable?: boolean; status?: number; retryAfterMs?: number } = {}) {
  return new ModelError(code, `failed as ${code}`, { retryable: true, ...fields })
}

function scripted(clock: ManualClock, script: ScriptedReply[], id = 'scripted/main') {
  return createScriptedModel({ script, clock, info: { id } })
}

interface Run {
  events: RetriedStreamEvent[]
  error: unknown
  /** How far the clock had to move. */
  waitedMs: number
}

/** Reads to the end, advancing the clock whenever everything waits for it. */
async function run(clock: ManualClock, models: LanguageModel[], options: Partial<RetryOptions> = {}): Promise<Run> {
  const start = clock.now()
  const result: Run = { events: [], error: undefined, waitedMs: 0 }
  let done = false
  const signal = new AbortController().signal
  const reading = (async () => {
    try {
      for await (const event of streamWithRetries({ models, request, signal, clock, random: () => 1, ...options })) {
        result.events.push(event)
      }
    } catch (error) {
      result.error = error
    }
    done = true
  })()
  for (let steps = 0; !done && steps < 2_000; steps += 1) await clock.advance(steps < 5 ? 0 : 500)
  await reading
  return { ...result, waitedMs: clock.now() - start }
}

const kinds = (events: RetriedStreamEvent[]) => events.map(({ type }) => type)

describe('streamWithRetries', () => {
  it('LOOP-7 passes a response through, with its model', async () => {
    const clock = createManualClock()
    const model = scripted(clock, [{ thinking: 'hm', text: 'Hello' }])
    const { events, error } = await run(clock, [model])
    expect(error).toBeUndefined()
    expect(kinds(events)).toEqual(['thinking_delta', 'text_delta', 'finished'])
    expect(events.at(-1)).toMatchObject({ model })
    expect(clock.timers()).toBe(0)
  })

  it('LOOP-7 waits longer each time, up to the limit', async () => {
    const clock = createManualClock()
    const error = failure('overloaded', { status: 529 })
    const model = scripted(clock, [{ error }, { error }, { error }, { error }, { error }, { text: 'At last' }])
    const { events } = await run(clock, [model], { attemptsPerModel: 6, maxDelayMs: 3_000 })
    const retries = events.filter((event) => event.type === 'retry')
    expect(retries.map(({ waitMs }) => waitMs)).toEqual([500, 1_000, 2_000, 3_000, 3_000])
    expect(retries.map(({ attempt }) => attempt)).toEqual([2, 3, 4, 5, 6])
    expect(retries[0]).toMatchObject({ reason: 'failed as overloaded', model: 'scripted/main' })
    expect(events.at(-1)).toMatchObject({ type: 'finished' })
  })

  it('LOOP-7 spreads the waits over the whole range', async () => {
    const clock = createManualClock()
    const error = failure('overloaded')
    const model = scripted(clock, [{ error }, { error }, { text: 'Hi' }])
    const { events } = await run(clock, [model], { random: () => 0.1 })
    expect(events.filter((event) => event.type === 'retry').map(({ waitMs }) => waitMs)).toEqual([50, 100])
  })

  it('LOOP-7 respects retry-after', async () => {
    const clock = createManualClock()
    const error = failure('rate_limited', { status: 429, retryAfterMs: 7_000 })
    const model = scripted(clock, [{ error }, { text: 'Now' }])
    const { events, waitedMs } = await run(clock, [model])
    expect(events[0]).toMatchObject({ type: 'retry', waitMs: 7_000 })
    expect(waitedMs).toBeGreaterThanOrEqual(7_000)
    expect(events.at(-1)).toMatchObject({ type: 'finished' })
  })

  it('LOOP-7 uses the fallback at once if the wait would be too long', async () => {
    const clock = createManualClock()
    const first = scripted(clock, [{ error: failure('rate_limited', { status: 429, retryAfterMs: 3_600_000 }) }])
    const second = scripted(clock, [{ text: 'Hi' }], 'other/main')
    const { events } = await run(clock, [first, second])
    expect(events[0]).toMatchObject({ type: 'retry', waitMs: 0, attempt: 1, model: 'other/main' })
    expect(events.at(-1)).toMatchObject({ type: 'finished', model: second })
    expect(first.requests).toHaveLength(1)
  })

  it.each([400, 422])('LOOP-7 never retries a %i, nor sends it to a fallback', async (status) => {
    const clock = createManualClock()
    const error = failure('rejected', { retryable: false, status })
    const first = scripted(clock, [{ error }])
    const second = scripted(clock, [{ text: 'Hi' }], 'other/main')
    const result = await run(clock, [first, second])
    expect(result.error).toBe(error)
    expect(first.requests).toHaveLength(1)
    expect(second.requests).toHaveLength(0)
  })

  it.each([401, 403, 404])('LOOP-7 never retries a %i, but uses the fallback', async (status) => {
    const clock = createManualClock()
    const first = scripted(clock, [{ error: failure('rejected', { retryable: false, status }) }])
    const second = scripted(clock, [{ text: 'Hi' }], 'other/main')
    const { events } = await run(clock, [first, second])
    expect(first.requests).toHaveLength(1)
    expect(events.at(-1)).toMatchObject({ type: 'finished', model: second })
  })

  it('LOOP-7 restarts an interrupted response and reports that its first part is void', async () => {
    const clock = createManualClock()
    const model = scripted(clock, [{ text: 'It beg', error: failure('cut') }, { text: 'It began' }])
    const { events } = await run(clock, [model])
    expect(events).toMatchObject([
      { type: 'text_delta', text: 'It beg' },
      { type: 'retry' },
      { type: 'text_delta', text: 'It began' },
      { type: 'finished' },
    ])
  })

  it('LOOP-7 tries every fallback and then throws the last error', async () => {
    const clock = createManualClock()
    const error = failure('overloaded')
    const last = failure('unreachable')
    const first = scripted(clock, [{ error }, { error }])
    const second = scripted(clock, [{ error: last }, { error: last }], 'other/main')
    const told: string[] = []
    const onRetry: RetryOptions['onRetry'] = ({ model, attempt }) => told.push(`${model} ${attempt}`)
    const result = await run(clock, [first, second], { attemptsPerModel: 2, onRetry })
    expect(result.error).toBe(last)
    expect(told).toEqual(['scripted/main 2', 'other/main 1', 'other/main 2'])
    expect(first.requests.length + second.requests.length).toBe(4)
  })

  it('LOOP-7 aborts an idle call, and retries', async () => {
    const clock = createManualClock()
    const model = scripted(clock, [{ delayMs: 600_000, text: 'Too late' }, { text: 'Hi' }])
    const { events, waitedMs } = await run(clock, [model], { idleTimeoutMs: 120_000 })
    expect(events[0]).toMatchObject({ type: 'retry', reason: 'scripted/main: no data for 120 s' })
    expect(events.at(-1)).toMatchObject({ type: 'finished' })
    expect(waitedMs).toBeLessThan(130_000)
  })

  it('LOOP-7 does not abort a slow response while data arrives', async () => {
    const clock = createManualClock()
    const reply = { text: 'abcdefgh', deltaLength: 1, deltaDelayMs: 100_000 }
    const { events } = await run(clock, [scripted(clock, [reply])], { idleTimeoutMs: 120_000 })
    expect(kinds(events)).toEqual([...Array(8).fill('text_delta'), 'finished'])
  })

  it('LOOP-7 stops waiting as soon as the turn is stopped', async () => {
    const clock = createManualClock()
    const stopping = new AbortController()
    const model = scripted(clock, [{ error: failure('overloaded', { retryAfterMs: 60_000 }) }, { text: 'Hi' }])
    const onRetry = () => void setImmediate(() => stopping.abort())
    const result = await run(clock, [model], { signal: stopping.signal, onRetry })
    expect(result.error).toMatchObject({ code: 'aborted' })
    expect(model.requests).toHaveLength(1)
    expect(clock.timers()).toBe(0)
  })

  it('LOOP-7 passes on an error that is not the model’s', async () => {
    const clock = createManualClock()
    const broken: LanguageModel = {
      info: scripted(clock, []).info,
      // biome-ignore lint/correctness/useYield: it fails before it has anything to yield.
      async *stream() {
        throw new TypeError('a bug')
      },
    }
    const result = await run(clock, [broken])
    expect(result.error).toBeInstanceOf(TypeError)
  })
})
