import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type SessionEvent, sessionEventSchema } from '../agent/sessions/session-event.ts'
import type { Json } from '../protocol/messages.ts'
import { forgetInRecord } from './forget-everything.ts'
import { isMentionedIn, mentionsAny } from './names.ts'

const mentions = mentionsAny(['Bee'])
const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }
const replay = { provider: 'anthropic', metadata: { signature: 'signed' } }
const media = { type: 'media', hash: 'bee', mediaType: 'image/png', name: 'bee.png', bytes: 1 } as const

const gone = '[forgotten]'

/** Each event full of it, and the expected changes. */
const events: [SessionEvent, Partial<Record<string, unknown>>][] = [
  [
    {
      type: 'message_received',
      messageId: 'bee',
      text: 'I met Bee',
      media: [media],
      sender: 'bee',
      source: 'bee',
      tier: 'bee',
      metadata: { bee: [{ name: 'bee' }], id: 'bee' },
    },
    { text: gone, media: [{ ...media, name: gone }], sender: gone, metadata: { [gone]: [{ name: gone }], id: gone } },
  ],
  [
    {
      type: 'turn_started',
      messageIds: ['bee'],
      source: 'bee',
      tier: 'bee',
      model: 'bee',
      context: 'about bee',
      recalled: [{ id: 'bee', text: 'about bee' }],
    },
    { context: gone, recalled: [{ id: 'bee', text: gone }] },
  ],
  [
    {
      type: 'model_responded',
      model: 'bee',
      parts: [
        { type: 'text', text: 'bee' },
        { type: 'thinking', text: 'bee', replay },
        { type: 'thinking', text: 'nothing', replay },
        { type: 'thinking', text: '', replay: { provider: 'openai', metadata: { summary: 'bee' } } },
        { type: 'tool_call', id: 'bee', name: 'find_bee', input: { name: 'bee', nested: [{ type: 'bee' }] }, replay },
      ],
      stopReason: 'end',
      usage,
      costNanousd: null,
    },
    {
      parts: [
        { type: 'text', text: gone },
        { type: 'thinking', text: gone },
        { type: 'thinking', text: 'nothing', replay },
        { type: 'thinking', text: '' },
        { type: 'tool_call', id: 'bee', name: 'find_bee', input: { name: gone, nested: [{ type: gone }] } },
      ],
    },
  ],
  [{ type: 'model_failed', model: 'bee', attempt: 1, reason: 'no bee', waitMs: 1 }, { reason: gone }],
  [{ type: 'tool_started', callId: 'bee', name: 'find_bee', input: 'bee', effect: 'idempotent' }, { input: gone }],
  [
    {
      type: 'tool_finished',
      callId: 'bee',
      name: 'bee',
      text: 'bee',
      isError: false,
      question: 'bee?',
      foundTools: ['bee'],
    },
    { text: gone, question: gone },
  ],
  [{ type: 'model_notified', about: 'rounds', text: 'bee' }, { text: gone }],
  [
    {
      type: 'turn_ended',
      outcome: 'completed',
      text: 'bee',
      question: 'bee?',
      toolCalls: [{ name: 'find_bee', input: { bee: 'bee' }, isError: false }],
      deliver: true,
    },
    { text: gone, question: gone, toolCalls: [{ name: 'find_bee', input: { [gone]: gone }, isError: false }] },
  ],
  [{ type: 'compacted', throughSeq: 1, summary: 'bee', messages: 1, beforeTokens: 1 }, { summary: gone }],
  [{ type: 'marked', name: 'bee' }, { name: gone }],
]

describe('forgetInRecord', () => {
  it.each(events)('MEM-14 $0.type stays an event, without the words', ({ type, ...data }, change) => {
    const changed = forgetInRecord(data as Json, mentions)
    expect(changed).toEqual({ ...data, ...change })
    expect(sessionEventSchema.safeParse({ ...(changed as object), type }).success).toBe(true)
  })

  it('MEM-14 a record that does not mention it is unchanged', () => {
    expect(
      forgetInRecord({ text: 'a beehive', parts: [{ type: 'text', text: 'x', replay }] }, mentions),
    ).toBeUndefined()
  })

  it('MEM-14 removes all free text from any record, and keeps the rest', () => {
    const text = fc.constantFrom('Bee', 'and bee too', 'been', 'x')
    const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.array(tie('tree')), fc.dictionary(text, tie('tree'))),
    }))
    fc.assert(
      fc.property(tree, (input) => {
        const changed = forgetInRecord({ input, text: 'kept' }, mentions)
        expect(changed === undefined).toBe(!isMentionedIn(input, mentions))
        if (changed !== undefined) expect(isMentionedIn(changed, mentions)).toBe(false)
      }),
    )
  })
})
