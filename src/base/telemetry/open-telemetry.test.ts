import { afterEach, describe, expect, it } from 'vitest'
import {
  attributesOf,
  type FakeCollector,
  startFakeCollector,
} from '../../../test/support/fake-collector/start-fake-collector.ts'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { createGuardedFetch } from '../../security/network/guarded-fetch.ts'
import { createWorkContext } from '../work.ts'
import type { Attributes } from './metrics.ts'
import { openTelemetry } from './open-telemetry.ts'
import type { Telemetry } from './telemetry.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function open(options: { answer?: Parameters<typeof startFakeCollector>[0]; clock?: ManualClock } = {}) {
  const { clock = createManualClock() } = options
  const collector = await startFakeCollector(options.answer)
  closers.push(collector.close)
  const fetch = createGuardedFetch({ allowedHosts: [{ host: '127.0.0.1', port: collector.port }] })
  closers.push(fetch.close)
  const opened = openTelemetry({
    settings: {
      traces: `${collector.origin}/v1/traces`,
      metrics: `${collector.origin}/v1/metrics`,
      headers: { authorization: 'Bearer of-the-collector' },
      timeoutMs: 10_000,
      metricsIntervalMs: 60_000,
    },
    resource: { 'service.name': 'familiar' },
    work: createWorkContext(),
    fetch,
    redact: (text) => text.replaceAll('hunter2-secret', '[redacted]'),
    clock,
    random: () => 1,
  })
  return { ...opened, collector, clock }
}

function make(telemetry: Telemetry, count: number): void {
  for (let number = 0; number < count; number += 1) telemetry.startSpan({ operation: 'chat', kind: 'client' }).end()
}

async function dropped(telemetry: Telemetry): Promise<Record<string, number>> {
  const metric = (await telemetry.read()).find(({ name }) => name === 'familiar.telemetry.dropped')
  return Object.fromEntries(
    (metric?.points ?? []).map((point) => [
      Object.values(Object.fromEntries(point.labels)).join(' '),
      'value' in point ? point.value : 0,
    ]),
  )
}

const received = (collector: FakeCollector, count: number) => expect.poll(() => collector.requests.length).toBe(count)

describe('telemetry', () => {
  it('SCALE-7 sends spans as a tree and metrics periodically, in OTLP format', async () => {
    const { telemetry, collector, clock, close } = await open()
    const outer = { operation: 'invoke_agent', target: 'familiar', kind: 'internal' } as const
    await telemetry.inSpan(outer, async (span) => {
      span.set({ 'familiar.turn.rounds': 2, 'gen_ai.conversation.id': 'a-session' })
      const failing = telemetry.inSpan({ operation: 'execute_tool', target: 'look', kind: 'internal' }, async () => {
        throw Object.assign(new Error('My card number is 4242'), { code: 'not_found' })
      })
      await expect(failing).rejects.toThrow('4242')
    })
    telemetry.record('gen_ai.client.token.usage', { 'gen_ai.token.type': 'input' }, 70)
    telemetry.add('familiar.turns', { 'familiar.turn.outcome': 'completed' })
    await clock.advance(5_000)
    await expect.poll(() => collector.spans.length).toBe(2)
    const [tool, turn] = collector.spans
    expect(turn).toMatchObject({ name: 'invoke_agent familiar', kind: 1, status: {} })
    expect(turn).not.toHaveProperty('parentSpanId')
    expect(tool).toMatchObject({
      name: 'execute_tool look',
      traceId: turn?.traceId,
      parentSpanId: turn?.spanId,
      status: { code: 2 },
    })
    expect(turn && attributesOf(turn)).toEqual({ 'familiar.turn.rounds': 2, 'gen_ai.conversation.id': 'a-session' })
    expect(tool && attributesOf(tool)).toEqual({ 'error.type': 'not_found' })
    await clock.advance(60_000)
    await expect.poll(() => collector.metrics.has('gen_ai.client.token.usage')).toBe(true)
    expect(collector.metrics.get('familiar.turns')).toMatchObject({ sum: { isMonotonic: true } })
    expect(collector.metrics.get('process.memory.usage')).toHaveProperty('gauge')
    expect(collector.resource).toEqual({ 'service.name': 'familiar' })
    expect(collector.requests.every(({ headers }) => headers.authorization === 'Bearer of-the-collector')).toBe(true)
    await close(1_000)
    expect(collector.problems).toEqual([])
  })

  it('SCALE-7 sends only listed attributes, and nothing in the shape of a sentence', async () => {
    const { telemetry, collector, close } = await open()
    const said = {
      'gen_ai.input.messages': 'tell nobody',
      'gen_ai.tool.name': 'tell nobody',
      'error.type': 'hunter2-secret',
    }
    telemetry
      .startSpan({ operation: 'tell nobody', target: 'tell\nnobody', kind: 'internal', attributes: said as Attributes })
      .end()
    await close(1_000)
    expect(collector.spans).toHaveLength(1)
    expect(collector.spans[0]).toMatchObject({ name: '_OTHER _OTHER' })
    expect(collector.spans[0] && attributesOf(collector.spans[0])).toEqual({
      'gen_ai.tool.name': '_OTHER',
      'error.type': '[redacted]',
    })
    expect(JSON.stringify(collector.requests)).not.toMatch(/nobody|hunter2/)
  })

  it('SCALE-7 continues a trace that began elsewhere, and skips one that is not sampled', async () => {
    const { telemetry, collector, close } = await open()
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const from = (isSampled: boolean) => ({ span: { traceId, spanId: '00f067aa0ba902b7', isSampled } })
    telemetry.work.apart(from(true), () => make(telemetry, 1))
    telemetry.work.apart(from(false), () => make(telemetry, 1))
    await close(1_000)
    expect(collector.spans).toMatchObject([{ traceId, parentSpanId: '00f067aa0ba902b7' }])
  })

  it('SCALE-7 retries as OTLP specifies, with the requested delay, and not after a rejection', async () => {
    const manual = createManualClock()
    const pauses: number[] = []
    const clock: ManualClock = {
      ...manual,
      after(delayMs, task) {
        pauses.push(delayMs)
        return manual.after(delayMs, task)
      },
    }
    const answers = [
      { status: 503, headers: { 'retry-after': '7' } },
      { status: 429 },
      'take',
      { status: 400 },
      { status: 200, body: '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no"}}' },
    ] as const
    const { telemetry, collector, close } = await open({
      clock,
      answer: (_request, number) => answers[number - 1] ?? 'take',
    })
    make(telemetry, 1)
    await clock.advance(5_000)
    // First the requested delay, then its own pauses, the second of which is two seconds.
    await expect.poll(() => pauses).toContain(7_000)
    await clock.advance(6_999)
    expect(collector.requests).toHaveLength(1)
    await clock.advance(1)
    await expect.poll(() => pauses).toContain(2_000)
    expect(collector.requests).toHaveLength(2)
    await clock.advance(2_000)
    await expect.poll(() => collector.spans.length).toBe(1)
    await expect.poll(() => clock.timers()).toBe(1)
    make(telemetry, 1)
    await clock.advance(5_000)
    await received(collector, 4)
    await expect.poll(() => dropped(telemetry)).toEqual({ 'traces refused': 1 })
    make(telemetry, 2)
    await clock.advance(5_000)
    await received(collector, 5)
    await expect.poll(() => dropped(telemetry)).toEqual({ 'traces refused': 2 })
    await close(1_000)
  })

  it('SCALE-7 a silent collector costs a full queue and nothing else, also at shutdown', async () => {
    const clock = createManualClock()
    const { telemetry, collector, close } = await open({ clock, answer: () => 'hang' })
    make(telemetry, 10_000)
    await received(collector, 1)
    // 512 are being sent, 2,048 are queued, and later ones are dropped.
    await expect.poll(() => dropped(telemetry)).toEqual({ 'traces queue_full': 10_000 - 512 - 2_048 })
    const closed = close(2_000)
    await clock.advance(2_000)
    await closed
    const counts = await dropped(telemetry)
    expect(counts['traces queue_full']).toBe(10_000 - 512 - 2_048)
    expect(counts['traces unreachable']).toBe(512 + 2_048)
    make(telemetry, 1)
    expect(clock.timers()).toBe(0)
  })

  it('SCALE-7 without an address nothing is sent, created or waited for', async () => {
    const clock = createManualClock()
    const fetch = () => Promise.reject(new Error('Somebody was called'))
    const settings = { traces: null, metrics: null, headers: {}, timeoutMs: 1, metricsIntervalMs: 1 }
    const work = createWorkContext()
    const { telemetry, close } = openTelemetry({ settings, resource: {}, work, fetch, redact: (text) => text, clock })
    await telemetry.inSpan({ operation: 'chat', kind: 'client' }, async () => {
      expect(work.current().span).toBeUndefined()
    })
    telemetry.add('familiar.turns', {})
    expect(clock.timers()).toBe(0)
    expect((await telemetry.read()).map(({ name }) => name)).toContain('familiar.turns')
    await close(0)
  })
})
