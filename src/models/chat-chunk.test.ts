import fastCheck from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readChatChunk } from './openai-chat-answer.ts'

function callsOf(delta: object) {
  return readChatChunk(JSON.stringify({ choices: [{ delta }] }))?.calls
}

describe('readChatChunk', () => {
  it('CLIENT-5 accepts every shape of a call: nested, flat, and the legacy one', () => {
    const called = { name: 'save_memory', arguments: '{"title":"x"}' }
    const read = { name: 'save_memory', input: '{"title":"x"}' }
    const nested = callsOf({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: called }] })
    expect(nested).toMatchObject([{ index: 0, id: 'c1', ...read }])
    expect(callsOf({ tool_calls: [{ index: 0, id: 'c1', ...called }] })).toEqual(nested)
    expect(callsOf({ tool_calls: [{ id: 'c1', name: 'save_memory', arguments: { title: 'x' } }] })).toMatchObject([
      { id: 'c1', name: 'save_memory', input: { title: 'x' } },
    ])
    expect(callsOf({ function_call: called })).toMatchObject([{ id: undefined, ...read }])
    expect(callsOf({ function_call: null })).toEqual([])
    expect(callsOf({ function_call: { arguments: '"x"}' } })).toMatchObject([{ name: undefined, input: '"x"}' }])
  })

  it('CLIENT-5 never throws on malformed calls', () => {
    fastCheck.assert(
      fastCheck.property(fastCheck.jsonValue(), fastCheck.jsonValue(), (calls, single) => {
        for (const call of callsOf({ tool_calls: calls, function_call: single }) ?? []) {
          expect(['string', 'undefined']).toContain(typeof call.name)
        }
      }),
    )
  })
})
