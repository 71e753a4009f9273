import type { LoggedEvent, SessionEvent } from '../../src/agent/sessions/session-event.ts'

/** Numbers from 0 up to `below`, the same for the same seed. */
export type Random = (below: number) => number

export function seededRandom(seed: number): Random {
  let state = seed >>> 0 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state % below
  }
}

const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 }

/** A log as the program itself could have written it: turns with joined messages, tool rounds, thinking, stops, failures. */
export function randomLog(random: Random, turns: number): LoggedEvent[] {
  const events: LoggedEvent[] = []
  let serial = 0
  const add = (turnId: string | null, event: SessionEvent) =>
    events.push({ ...event, seq: events.length + 1, turnId, at: 1_000 + events.length })
  for (let turn = 0; turn < turns; turn += 1) {
    const turnId = `turn-${turn}`
    const messages = 1 + random(3)
    const messageIds: string[] = []
    for (let index = 0; index < messages; index += 1) {
      serial += 1
      messageIds.push(`m${serial}`)
      add(turnId, received(`m${serial}`, `text ${serial} ${'x'.repeat(random(20))}`))
    }
    add(turnId, started(messageIds))
    const rounds = random(4)
    for (let round = 0; round < rounds; round += 1) {
      const calls = Array.from({ length: 1 + random(3) }, () => {
        serial += 1
        return { type: 'tool_call' as const, id: `call-${serial}`, name: 'look', input: { serial } }
      })
      const thinking = { type: 'thinking' as const, text: `why ${serial}` }
      const beside = { type: 'text' as const, text: random(2) ? `beside ${serial}` : ' ' }
      add(turnId, {
        type: 'model_responded',
        model: 'm',
        parts: [thinking, beside, ...calls],
        stopReason: 'tool_use',
        usage,
        costNanousd: 0,
      })
      for (const call of calls)
        add(turnId, { type: 'tool_started', callId: call.id, name: call.name, input: call.input, effect: 'idempotent' })
      for (const call of calls)
        add(turnId, {
          type: 'tool_finished',
          callId: call.id,
          name: call.name,
          text: random(4) ? `found ${call.id}` : '',
          isError: random(5) === 0,
        })
    }
    if (random(6) === 0) {
      add(turnId, { type: 'stop_requested' })
      add(turnId, ended('stopped', 'Stopped.'))
      continue
    }
    if (random(8) === 0) add(turnId, { type: 'model_failed', model: 'm', attempt: 1, reason: 'cut', waitMs: 5 })
    const text = `answer ${serial}`
    const stray =
      random(6) === 0 ? [{ type: 'tool_call' as const, id: `stray-${serial}`, name: 'look', input: {} }] : []
    add(turnId, {
      type: 'model_responded',
      model: 'm',
      parts: [{ type: 'text', text }, ...stray],
      stopReason: 'end',
      usage,
      costNanousd: 0,
    })
    add(turnId, ended('completed', text))
  }
  return events
}

function received(messageId: string, text: string): SessionEvent {
  return {
    type: 'message_received',
    messageId,
    text,
    media: [],
    sender: 'anna',
    source: 'cli',
    tier: 'full',
    metadata: {},
  }
}

function started(messageIds: string[]): SessionEvent {
  const context = '<context>\nNow: today\n</context>'
  return { type: 'turn_started', messageIds, source: 'cli', tier: 'full', model: 'm', context, recalled: [] }
}

function ended(outcome: 'completed' | 'stopped', text: string): SessionEvent {
  return { type: 'turn_ended', outcome, text, question: null, toolCalls: [], deliver: true }
}
