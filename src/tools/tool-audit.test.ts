import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import { createToolAudit } from './registry.ts'

const call = {
  userId: 'max',
  tool: 'weather',
  caller: 'user',
  userText: '',
  outcome: 'succeeded',
  durationMs: 12,
} as const

describe('the audit trail of tools', () => {
  let store: MemoryStore
  beforeEach(async () => {
    store = await openMemoryStore()
  })
  afterEach(() => store.close())

  it('TOOL-11 records each call with its topic, outcome, duration, driver and remaining budget', async () => {
    const audit = createToolAudit({ ...store, redact: (text) => text.replaceAll('hunter22', '[redacted]') })
    await audit.record({
      ...call,
      caller: 'turn',
      sessionId: 'session',
      turnId: 'turn',
      callId: 'call',
      userText: 'Will it rain in Valletta tomorrow?',
      outcome: 'failed',
      durationMs: 41.6,
      driver: 'embedded',
      budgetRemaining: 940,
      error: `no such key hunter22\u001b[31m ${'x'.repeat(600)}`,
    })
    await store.database.write((writer) => audit.recordIn(writer, { ...call, userId: 'eve' }))
    const [row, ...others] = await audit.list('max', { limit: 10 })
    expect(others).toEqual([])
    expect(row).toMatchObject({
      userId: 'max',
      tool: 'weather',
      caller: 'turn',
      sessionId: 'session',
      turnId: 'turn',
      callId: 'call',
      topic: 'valletta rain',
      outcome: 'failed',
      at: store.clock.now(),
      durationMs: 42,
      budgetRemaining: 940,
      driver: 'embedded',
    })
    expect(row?.error).toMatch(/^no such key \[redacted\] x+…$/)
    expect(row?.error?.length).toBeLessThanOrEqual(501)
  })

  it('SEC-18 keeps a limited number of calls per user', async () => {
    const audit = createToolAudit({ ...store, redact: (text) => text, maxCallsPerUser: 50 })
    await audit.record({ ...call, userId: 'eve', tool: 'kept' })
    await store.database.write(async (writer) => {
      for (let index = 0; index < 450; index += 1) await audit.recordIn(writer, { ...call, tool: `tool_${index}` })
    })
    const rows = await audit.list('max', { limit: 1_000 })
    expect(rows.length).toBeLessThanOrEqual(250)
    expect(rows[0]?.tool).toBe('tool_449')
    expect(await audit.list('max', { tool: 'tool_0', limit: 10 })).toEqual([])
    expect(await audit.list('max', { tool: 'tool_449', limit: 10 })).toHaveLength(1)
    expect(await audit.list('eve', { limit: 10 })).toHaveLength(1)
  })
})
