import { afterEach, describe, expect, it } from 'vitest'
import { openScriptedFamiliar, type ScriptedFamiliar, said, toolOf } from '../../test/support/scripted-familiar.ts'
import { createScriptedModel, type Script, type ScriptedModel } from '../../test/support/scripted-model.ts'
import { faultsOfHistory } from '../../test/support/valid-history.ts'
import { ModelError } from '../models/model.ts'
import type { StreamedEvent, TurnEvent } from '../protocol/events.ts'
import type { Tool } from '../tools/tool.ts'

let familiar: ScriptedFamiliar | undefined

afterEach(async () => {
  await familiar?.close()
  familiar = undefined
})

async function open(script: Script, options: { tools?: Tool[]; toml?: string; home?: string } = {}) {
  const model = createScriptedModel({ script })
  familiar = await openScriptedFamiliar({ model, ...options })
  return { familiar, model }
}

async function eventsOf(opened: ScriptedFamiliar, sessionId: string): Promise<TurnEvent[]> {
  const controller = new AbortController()
  const events: TurnEvent[] = []
  for await (const { event } of await opened.conversations.events(opened.userId, sessionId, '0', controller.signal)) {
    events.push(event)
    if (event.type === 'turn_end') break
  }
  controller.abort()
  return events
}

const callsFor = (model: ScriptedModel) => model.requests.length

describe('LOOP-1 rounds', () => {
  it('LOOP-1 asks, runs tools, feeds the results back, finishes', async () => {
    const look = toolOf('look', async () => said('it is there'))
    const opened = await open([{ text: 'I look.', toolCalls: [{ name: 'look' }] }, { text: 'Found it.' }], {
      tools: [look],
    })
    const end = await opened.familiar.say('where is it?')
    expect(end).toMatchObject({ outcome: 'completed', text: 'Found it.', rounds: 2 })
    expect(end.toolCalls).toEqual([{ name: 'look', input: {}, isError: false }])
    const second = opened.model.requests[1]?.messages
    expect(second?.at(-1)).toMatchObject({ role: 'tool', results: [{ name: 'look', text: 'it is there' }] })
    expect(second?.at(-2)).toMatchObject({
      role: 'assistant',
      parts: [{ type: 'text', text: 'I look.' }, { type: 'tool_call' }],
    })
  })

  it('LOOP-1 a model that calls tools without end stops at exactly the round limit, after a warning', async () => {
    const look = toolOf('look', async (input) => said(JSON.stringify(input)))
    const script: Script = (_request, call) => ({ toolCalls: [{ name: 'look', input: { call } }] })
    const opened = await open(script, { tools: [look], toml: '[agent]\nmax_rounds = 7\n' })
    const end = await opened.familiar.say('go on')
    expect(end.outcome).toBe('round_limit')
    expect(end.text).toContain('limit of 7 rounds')
    expect(callsFor(opened.model)).toBe(7)
    const told = opened.model.requests.map((request) =>
      JSON.stringify(request.messages).includes('Only 2 rounds are left'),
    )
    expect(told).toEqual([false, false, false, false, false, true, true])
  })
})

describe('LOOP-2 tool calls of one response', () => {
  it('LOOP-2 run side by side and keep their order', async () => {
    let running = 0
    let most = 0
    const wait = toolOf('wait', async (input) => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setTimeout(resolve, (input as { ms: number }).ms))
      running -= 1
      return said(`waited ${(input as { ms: number }).ms}`)
    })
    const calls = [30, 20, 10].map((ms) => ({ name: 'wait', input: { ms } }))
    const opened = await open([{ toolCalls: calls }, { text: 'done' }], { tools: [wait] })
    await opened.familiar.say('go')
    expect(most).toBe(3)
    const last = opened.model.requests[1]?.messages.at(-1)
    expect(last?.role === 'tool' && last.results.map((result) => result.text)).toEqual([
      'waited 30',
      'waited 20',
      'waited 10',
    ])
  })

  it('LOOP-2 a serial tool runs alone', async () => {
    let running = 0
    const seen: number[] = []
    const busy = async () => {
      running += 1
      seen.push(running)
      await new Promise((resolve) => setTimeout(resolve, 10))
      running -= 1
      return said('ok')
    }
    const tools = [toolOf('side', busy), toolOf('alone', busy, { serial: true })]
    const calls = ['side', 'side', 'alone', 'alone', 'side'].map((name) => ({ name }))
    const opened = await open([{ toolCalls: calls }, { text: 'done' }], { tools })
    await opened.familiar.say('go')
    expect(seen).toEqual([1, 2, 1, 1, 1])
  })
})

describe('LOOP-3 stop reasons', () => {
  it('LOOP-3 tool calls run also beside an end', async () => {
    let ran = 0
    const look = toolOf('look', async () => {
      ran += 1
      return said('no')
    })
    const script: Script = [{ text: 'I look.', toolCalls: [{ name: 'look' }], stopReason: 'end' }, { text: 'Seen.' }]
    const opened = await open(script, { tools: [look] })
    expect(await opened.familiar.say('hi')).toMatchObject({ outcome: 'completed', text: 'Seen.' })
    expect(ran).toBe(1)
  })

  it('LOOP-3 complete calls of a response cut by its length still run', async () => {
    const look = toolOf('look', async () => said('seen'))
    const script: Script = [{ toolCalls: [{ name: 'look' }], stopReason: 'max_tokens' }, { text: 'ok' }]
    const opened = await open(script, { tools: [look] })
    const end = await opened.familiar.say('hi')
    expect(end.toolCalls).toHaveLength(1)
    expect(end.text).toBe('ok')
  })

  it('LOOP-3 arguments that are not JSON are reported to the model and the session stays valid', async () => {
    const opened = await open([{ toolCalls: [{ name: 'recall_memory', input: '{"query": "x' }] }, { text: 'ok' }])
    await opened.familiar.say('hi')
    const messages = opened.model.requests[1]?.messages ?? []
    expect(faultsOfHistory(messages)).toEqual([])
    expect(messages.at(-1)).toMatchObject({ role: 'tool', results: [{ isError: true }] })
  })

  it('LOOP-3 an unknown tool is an error for the model, not for the turn', async () => {
    const opened = await open([{ toolCalls: [{ name: 'no_such' }] }, { text: 'ok' }])
    expect((await opened.familiar.say('hi')).text).toBe('ok')
    expect(JSON.stringify(opened.model.requests[1]?.messages.at(-1))).toContain('There is no tool named no_such')
  })
})

describe('TOOL-10a the tools that fit', () => {
  it('TOOL-10a CTX-4 are named with the message, called without a search, and change nothing before it', async () => {
    const calls: unknown[] = []
    const forecast = toolOf(
      'snow_forecast',
      async (input) => {
        calls.push(input)
        return said('10 cm')
      },
      { core: false },
    )
    const { familiar, model } = await open(
      [
        { text: 'hello' },
        { toolCalls: [{ name: 'snow_forecast', input: { place: 'Oslo' } }] },
        { text: '10 cm tomorrow' },
        { text: 'welcome' },
      ],
      { tools: [forecast] },
    )
    await familiar.say('hi')
    expect((await familiar.say('What is the snow forecast for Oslo?')).text).toBe('10 cm tomorrow')
    await familiar.say('thank you')
    expect(calls).toEqual([{ place: 'Oslo' }])
    const [first, second, third, fourth] = model.requests
    expect(JSON.stringify(first?.messages)).not.toContain('snow_forecast')
    expect(JSON.stringify(second?.messages.at(-1))).toContain(
      'call one by its name:\\n- snow_forecast(): Does snow_forecast.\\n</context>',
    )
    expect(JSON.stringify(fourth?.messages.at(-1))).not.toContain('snow_forecast')
    for (const later of [second, third, fourth]) {
      expect(later?.tools).toEqual(first?.tools)
      expect(later?.system).toEqual(first?.system)
      expect(later?.messages.slice(0, first?.messages.length)).toEqual(first?.messages)
    }
  })
})

describe('TOOLS-3 the switch', () => {
  it('TOOLS-3 with tools switched off none is offered and none runs', async () => {
    let ran = 0
    const look = toolOf('look', async () => {
      ran += 1
      return said('there')
    })
    const script: Script = [{ toolCalls: [{ name: 'look' }] }, { text: 'fine' }]
    const opened = await open(script, { tools: [look], toml: '[tools]\nenabled = false\n' })
    expect((await opened.familiar.say('go')).text).toBe('fine')
    expect(opened.model.requests.map((request) => request.tools)).toEqual([[], []])
    expect(ran).toBe(0)
  })
})

describe('LOOP-4 questions', () => {
  it('LOOP-4 a question ends the turn and the next message answers it, also after a restart', async () => {
    const script: Script = [
      { toolCalls: [{ name: 'ask_user', input: { question: 'Which one?' } }] },
      { text: 'The red one.' },
    ]
    const first = await open(script)
    const asked = await first.familiar.say('buy it')
    expect(asked).toMatchObject({ outcome: 'question', question: 'Which one?' })
    const { home } = first.familiar
    await first.familiar.close({ keep: true })
    const model = createScriptedModel({ script: [{ text: 'The red one.' }] })
    familiar = await openScriptedFamiliar({ model, home })
    const answered = await familiar.say('red')
    expect(answered).toMatchObject({ outcome: 'completed', question: null })
    const messages = model.requests[0]?.messages ?? []
    expect(faultsOfHistory(messages)).toEqual([])
    expect(JSON.stringify(messages.at(-1))).toContain('You had asked: Which one?')
  })
})

describe('LOOP-5 events', () => {
  it('LOOP-5 every step is an event, in order, with the fields that clients know', async () => {
    const look = toolOf('look', async (_input, { progress }) => {
      progress({ at: 'half' })
      return said('there')
    })
    const script: Script = [
      { thinking: 'hm', text: 'a', toolCalls: [{ name: 'look', input: { x: 1 } }] },
      { text: 'b' },
    ]
    const opened = await open(script, { tools: [look] })
    const { sessionId } = await opened.familiar.say('hi')
    const events = await eventsOf(opened.familiar, sessionId)
    expect(events.map((event) => event.type)).toEqual([
      'message',
      'turn_start',
      'thinking_delta',
      'text_delta',
      'cost',
      'tool_start',
      'tool_result',
      'text_delta',
      'cost',
      'response',
      'turn_end',
    ])
    expect(events[5]).toMatchObject({ name: 'look', input: { x: 1 } })
    expect(events[6]).toMatchObject({ name: 'look', result: 'there', isError: false })
    expect(events[9]).toMatchObject({ text: 'b', buildId: null, pendingQuestion: null, toolCalls: [{ name: 'look' }] })
  })
})

describe('LOOP-6 repeated failures', () => {
  it('LOOP-6 warns the model at three and stops at five', async () => {
    const fail = toolOf('fail', async () => ({ text: 'no such file', isError: true }))
    const opened = await open(() => ({ toolCalls: [{ name: 'fail', input: { path: 'x' } }] }), { tools: [fail] })
    const end = await opened.familiar.say('go')
    expect(end.outcome).toBe('repeated_failure')
    expect(end.text).toContain('failed 5 times with the same error')
    expect(callsFor(opened.model)).toBe(5)
    const told = opened.model.requests.map((request) => JSON.stringify(request.messages).includes('has failed 3 times'))
    expect(told).toEqual([false, false, false, true, true])
  })
})

describe('LOOP-7 a model that fails', () => {
  it('LOOP-7 a rejected request ends the turn with the reason and the next turn works', async () => {
    const rejected = new ModelError('rejected', 'model is unknown', { retryable: false, status: 404 })
    const opened = await open([{ error: rejected }, { text: 'hello' }])
    const end = await opened.familiar.say('one')
    expect(end).toMatchObject({ outcome: 'failed' })
    expect(end.text).toContain('model is unknown')
    expect((await opened.familiar.say('two')).text).toBe('hello')
    expect(faultsOfHistory(opened.model.requests[1]?.messages ?? [])).toEqual([])
  })
})

describe('LOOP-8 stopping', () => {
  it('LOOP-8 stops a running tool and leaves the session valid', async () => {
    let aborted = false
    const started = Promise.withResolvers<void>()
    const hang = toolOf('hang', async (_input, { signal }) => {
      started.resolve()
      signal.addEventListener('abort', () => {
        aborted = true
      })
      return new Promise(() => undefined)
    })
    const opened = await open([{ toolCalls: [{ name: 'hang' }] }, { text: 'fine' }], { tools: [hang] })
    const { conversations, userId, inbound } = opened.familiar
    const { messageId, sessionId } = await conversations.submit(inbound('go'))
    await started.promise
    expect(await conversations.stop(userId, sessionId)).toBe(true)
    expect(await conversations.waitForTurn(messageId)).toMatchObject({ outcome: 'stopped' })
    expect(aborted).toBe(true)
    expect(await conversations.stop(userId, sessionId)).toBe(false)
    expect((await opened.familiar.say('again')).text).toBe('fine')
    expect(faultsOfHistory(opened.model.requests[1]?.messages ?? [])).toEqual([])
  })

  it('LOOP-8 keeps the text before the stop', async () => {
    const said = 'The first half of an answer '
    const hanging = createScriptedModel({ script: [] })
    const model = {
      ...hanging,
      async *stream(_request: unknown, signal: AbortSignal) {
        yield { type: 'text_delta' as const, text: said }
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    }
    familiar = await openScriptedFamiliar({ model })
    const { conversations, userId, inbound } = familiar
    const { messageId, sessionId } = await conversations.submit(inbound('go'))
    const watching = new AbortController()
    for await (const { event } of await conversations.events(userId, sessionId, '0', watching.signal)) {
      if (event.type === 'text_delta') break
    }
    await conversations.stop(userId, sessionId)
    const end = await conversations.waitForTurn(messageId)
    expect(end.text).toContain(said.trim())
    expect(end.text).toContain('[Stopped.]')
  })
})

describe('HTTP-4 the stream of a session', () => {
  it('HTTP-4 resuming at every cursor loses nothing and repeats nothing', async () => {
    const look = toolOf('look', async () => said('there'))
    const script: Script = [{ thinking: 'hm hm', text: 'abc', toolCalls: [{ name: 'look' }] }, { text: 'defgh' }]
    const opened = await open(script, { tools: [look] })
    const { sessionId } = await opened.familiar.say('hi')
    const read = async (cursor: string): Promise<StreamedEvent[]> => {
      const all: StreamedEvent[] = []
      const { signal } = new AbortController()
      for await (const streamed of await opened.familiar.conversations.events(
        opened.familiar.userId,
        sessionId,
        cursor,
        signal,
      )) {
        all.push(streamed)
        if (streamed.event.type === 'turn_end') break
      }
      return all
    }
    const whole = await read('0')
    for (const [index, { cursor }] of whole.slice(0, -1).entries()) {
      expect(await read(cursor)).toEqual(whole.slice(index + 1))
    }
  })
})
