import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FamiliarError } from '../../protocol/errors.ts'
import { chatCompletionRequestSchema, type OpenAiMessage, openAiResponseRequestSchema } from '../../protocol/openai.ts'
import { listedFile } from './client-list.ts'
import { readMessages } from './completion-routes.ts'
import { readResponseInput } from './response-routes.ts'
import { readClientCallId, readResponseId, toClientCallId, toResponseId } from './watch-reply.ts'

const text = fc.string({ maxLength: 20 })
const message: fc.Arbitrary<OpenAiMessage> = fc.oneof(
  fc.record({ role: fc.constant('system' as const), content: text }),
  fc.record({ role: fc.constant('user' as const), content: text }),
  fc.record({
    role: fc.constant('assistant' as const),
    content: fc.option(text),
    tool_calls: fc.option(
      fc.array(fc.record({ id: text, function: fc.record({ name: text, arguments: text }) }), { maxLength: 2 }),
    ),
  }),
  fc.record({ role: fc.constant('tool' as const), content: text, tool_call_id: text }),
)

describe('lists of messages', () => {
  it('HTTP-5 any list is read completely, or refused if there is nothing to answer', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        const spoken = messages.filter(({ role }) => role !== 'system')
        const last = spoken.at(-1)
        if (!last || last.role === 'assistant') return void expect(() => readMessages(messages)).toThrow(FamiliarError)
        const list = readMessages(messages)
        const told = JSON.stringify(list)
        const texts = spoken.flatMap(({ content }) => (typeof content === 'string' && content.trim() ? [content] : []))
        for (const content of texts) expect(told).toContain(JSON.stringify(content).slice(1, -1))
        const calls = [...list.past, list.newest].flatMap((exchange) => exchange.calls)
        const results = calls.filter(({ result }) => result !== null)
        expect(results).toHaveLength(messages.filter(({ role }) => role === 'tool').length)
      }),
    )
  })

  it('HTTP-5 any content of a message or an output is read, or refused with a reason', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (content, output) => {
        const messages = [{ role: 'user', content }]
        const completion = chatCompletionRequestSchema.safeParse({ model: 'm', messages })
        const input = [...messages, { type: 'function_call_output', call_id: 'c', output }]
        const response = openAiResponseRequestSchema.safeParse({ model: 'm', input })
        const said = completion.success ? readMessages(completion.data.messages).newest.said : undefined
        if (typeof content === 'string') expect(said).toEqual({ text: content, files: [] })
        if (response.success) expect(readResponseInput(response.data).newest.calls).toHaveLength(1)
      }),
    )
  })

  it('HTTP-5 an address of a file is one that can be fetched, or it is refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl(), fc.constant('data:image/png;base64,AAAA')), (url) => {
        const read = () => listedFile(url, { name: 'image', where: 'here' })
        if (/^https?:\/\//i.test(url)) expect(read()).toEqual({ kind: 'address', name: 'image', url })
        else if (url.startsWith('data:image/png;'))
          expect(read()).toMatchObject({ mediaType: 'image/png', data: 'AAAA' })
        else expect(read).toThrow(FamiliarError)
      }),
    )
  })

  it('HTTP-5 consecutive messages are joined; the result of a tool belongs to the call before it', () => {
    const list = readMessages([
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'One.' },
      { role: 'user', content: [{ type: 'text', text: 'Two.' }] },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', function: { name: 'ring', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'ding' },
    ])
    expect(list).toEqual({
      instructions: 'Be brief.',
      past: [],
      newest: {
        said: { text: 'One.\n\nTwo.', files: [] },
        answers: [],
        calls: [{ id: 'c1', name: 'ring', arguments: '{}', result: 'ding' }],
      },
    })
  })
})

describe('ids that clients hold', () => {
  it('HTTP-5 lead back to what they name, and no other text does', () => {
    const text = fc.string({ minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), text, (sessionId, messageId, callId) => {
        expect(readClientCallId(toClientCallId(sessionId, callId))).toEqual({ sessionId, callId })
        const place = { sessionId, messageId, cursor: '17.3' }
        expect(readResponseId(toResponseId(place))).toEqual({ sessionId, messageId })
        expect(readClientCallId(callId)).toBeUndefined()
        expect(readResponseId(callId)).toBeUndefined()
      }),
    )
  })
})
