import { describe, expect, it } from 'vitest'
import { exchangesOf } from './learning.ts'
import type { LoggedEvent, SessionEvent } from './sessions/session-event.ts'

const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }

function message(text: string, source = 'cli'): SessionEvent {
  return {
    type: 'message_received',
    messageId: text,
    text,
    media: [],
    sender: 'max',
    source,
    tier: 'full',
    metadata: {},
  }
}

function responded(model = 'real/model'): SessionEvent {
  return { type: 'model_responded', model, parts: [], stopReason: 'end', usage, costNanousd: 0 }
}

function ended(text: string, more: Partial<Extract<SessionEvent, { type: 'turn_ended' }>> = {}): SessionEvent {
  return { type: 'turn_ended', outcome: 'completed', text, question: null, toolCalls: [], deliver: true, ...more }
}

/** Events with their turns, numbered from 1. */
function log(...entries: [string | null, SessionEvent][]): LoggedEvent[] {
  return entries.map(([turnId, event], index) => ({ ...event, turnId, seq: index + 1, at: 1_000 + index }))
}

function read(events: readonly LoggedEvent[]) {
  const { exchanges, throughSeq } = exchangesOf(events, {
    sessionId: 'session',
    isOffline: (model) => model === 'offline/offline',
  })
  const lines = exchanges.map((exchange) =>
    exchange.lines.map(({ speaker, text, seq }) => `${seq} ${speaker}: ${text}`),
  )
  return { exchanges, throughSeq, lines }
}

describe('exchangesOf', () => {
  it('MEM-11 words that ask to forget something are not kept, unless nothing was forgotten', () => {
    const call = (name: string, isError = false) => ({ toolCalls: [{ name, input: { id: 'x' }, isError }] })
    const command = (line: string) => ({
      toolCalls: [{ name: 'slash_command', input: { command: line }, isError: false }],
    })
    const { lines, throughSeq } = read(
      log(
        ['a', message('Forget that I like tea')],
        ['a', ended('Forgotten.', call('memory_forget'))],
        ['b', message('Forget that I like rum')],
        ['b', ended('There is none.', call('memory_forget', true))],
        ['c', message('I like milk')],
        ['c', ended('Noted.', call('store_memory'))],
        ['d', message('Forget that I like gin')],
        ['d', ended('Forgotten.', command('/forget gin'))],
        ['e', message('Pin the list')],
        ['e', ended('Pinned.', command('/pin forget'))],
      ),
    )
    const kept = [['3 user: Forget that I like rum'], ['5 user: I like milk'], [], ['9 user: Pin the list']]
    expect(lines).toEqual([[], ...kept])
    expect(throughSeq).toBe(10)
  })

  it('CLIENT-2 text that is saved in or read from the user’s browser is not stored here', () => {
    const called = (name: string, isClients?: true): SessionEvent => {
      return { type: 'tool_started', callId: 'c', name, input: {}, ...(isClients && { isClients }) } as SessionEvent
    }
    const turn = (id: string, call: SessionEvent): [string, SessionEvent][] => [
      [id, message(`said in ${id}`)],
      [id, call],
      [id, responded()],
      [id, ended('done')],
    ]
    const { lines } = read(
      log(
        ...turn('a', called('save_memory', true)),
        ...turn('b', called('read_browser_memory', true)),
        ...turn('c', called('save_memory')),
        ...turn('d', called('ring_bell', true)),
      ),
    )
    expect(lines.map((own) => own.length)).toEqual([0, 0, 2, 2])
  })

  it('MEM-8 an approval question, its reminder and a status line do not count as messages', () => {
    const question =
      'May I call send to https://mail.example, with {"to":"bob"}? I have read text of others here. Yes or no?'
    const asked: SessionEvent = {
      type: 'tool_finished',
      callId: 'c',
      name: 'send',
      text: 'Not done',
      isError: true,
      question,
      approvalId: 'a1',
    }
    const reminder = `Still waiting for your answer: ${question}`
    const { lines } = read(
      log(
        ['a', message('Write to Bob')],
        ['a', responded()],
        ['a', asked],
        ['a', ended(`I write to Bob.\n\n${question}`, { outcome: 'question', question })],
        ['b', message('And Eve')],
        ['b', responded()],
        ['b', asked],
        ['b', ended(question, { outcome: 'question', question })],
        ['c', message('Who is Bob?')],
        ['c', responded()],
        ['c', ended(`Your brother.\n\n${reminder}`, { added: reminder })],
        ['d', message('Say nothing')],
        ['d', responded()],
        ['d', ended('The model gave an empty reply.')],
      ),
    )
    expect(lines).toEqual([
      ['1 user: Write to Bob', '4 assistant: I write to Bob.'],
      ['5 user: And Eve'],
      ['9 user: Who is Bob?', '11 assistant: Your brother.'],
      ['12 user: Say nothing'],
    ])
  })

  it('MEM-8 reads the messages of the user and the model, turn by turn', () => {
    const { exchanges, lines, throughSeq } = read(
      log(
        ['a', message('one')],
        ['a', message('two')],
        ['a', responded()],
        ['a', ended('three')],
        [null, { type: 'context_warned', inputTokens: 1, thresholdTokens: 1 }],
        ['b', message('four')],
        ['b', responded()],
        ['b', ended('five', { outcome: 'question' })],
        [null, { type: 'reset' }],
      ),
    )
    expect(lines).toEqual([
      ['1 user: one', '2 user: two', '4 assistant: three'],
      ['6 user: four', '8 assistant: five'],
    ])
    expect(exchanges.map(({ turnId, throughSeq: own, at }) => [turnId, own, at])).toEqual([
      ['a', 4, 1_000],
      ['b', 8, 1_005],
    ])
    expect(throughSeq).toBe(9)
  })

  it('MEM-8 leaves out automated messages, replies by form, silent ones, and error texts', () => {
    const { lines } = read(
      log(
        ['a', message('heartbeat', 'system')],
        ['a', responded()],
        ['a', ended('HEARTBEAT_OK', { deliver: false })],
        ['b', message('by form')],
        ['b', responded('offline/offline')],
        ['b', ended('Noted.')],
        ['c', message('failed')],
        ['c', ended('The model could not answer', { outcome: 'failed' })],
        ['d', message('silent')],
        ['d', responded()],
        ['d', ended('NO_REPLY', { deliver: false })],
      ),
    )
    expect(lines).toEqual([[], ['4 user: by form'], ['7 user: failed'], ['9 user: silent']])
  })

  it('MEM-8 waits for the end of a turn, and leaves out rewound messages', () => {
    const running = log(
      ['a', message('one')],
      ['a', responded()],
      ['a', ended('two')],
      ['b', message('three')],
      ['b', responded()],
    )
    expect(read(running)).toMatchObject({ throughSeq: 3, lines: [['1 user: one', '3 assistant: two']] })
    expect(read(running.slice(0, 2))).toMatchObject({ throughSeq: 0, lines: [] })
    expect(read([])).toMatchObject({ throughSeq: 0, lines: [] })
    const rewound = read([...running, { type: 'rewound', toSeq: 3, seq: 6, turnId: null, at: 9 }])
    expect(rewound).toMatchObject({ throughSeq: 6, lines: [['1 user: one', '3 assistant: two']] })
  })

  it('SEC-15 marks untrusted messages, and messages after untrusted content', () => {
    const said = { ...message('one'), label: 'untrusted' } as SessionEvent
    expect(read(log(['a', said], ['a', ended('two')])).exchanges[0]).toMatchObject({ untrusted: true })
    const plain = read(log(['a', message('one')], ['a', ended('two')])).exchanges[0]
    expect(plain).toMatchObject({ untrusted: false })
    expect(plain).not.toHaveProperty('sawUntrusted')
    const beside = read(log(['a', message('one')], ['a', ended('two', { label: 'untrusted' })])).exchanges[0]
    expect(beside).toMatchObject({ untrusted: false, sawUntrusted: true })
  })

  it('SEC-15 text that a program sent is not a line of the user', () => {
    const sent = { ...message('the backup is done'), label: 'internal' } as SessionEvent
    expect(read(log(['a', sent], ['a', ended('two')])).exchanges[0]?.lines[0]).toMatchObject({ isProgram: true })
  })

  it('TOOL-9 a reply with ephemeral content is not stored', () => {
    const result = { callId: 'c', name: 'weather', text: '21 °C', isError: false, isEphemeral: true } as const
    const { lines } = read(
      log(
        ['a', message('How warm is it?')],
        ['a', { type: 'tool_finished', ...result }],
        ['a', responded()],
        ['a', ended('It is 21 °C.')],
      ),
    )
    expect(lines).toEqual([['1 user: How warm is it?']])
  })
})
