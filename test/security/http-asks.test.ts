import { describe, expect, it } from 'vitest'
import { createScriptedModel, type Script } from '../support/scripted-model.ts'
import { serveInTests } from './serve-in-tests.ts'

const serve = serveInTests()

const chat = '/api/v1/chat'
const input = { question: 'Which city?', options: [{ label: 'Austin' }, { label: 'Oslo', description: 'in Norway' }] }
const listed = 'Which city?\n\n1. Austin\n2. Oslo: in Norway\nAnswer with a number.'
const script: Script = (_request, round) =>
  round === 1 ? { toolCalls: [{ name: 'ask_user', input }] } : { text: `Rain ${round}.` }

describe('questions with options over HTTP', () => {
  it('LOOP-4a are listed in the reply and as fields, and `answers` chooses one, once', async () => {
    const model = createScriptedModel({ script })
    const served = await serve({ model })
    const say = (body: object, token?: string) => served.call({ path: chat, body, ...(token && { token }) })
    const { json } = await say({ message: 'weather' })
    const { id } = json.pending_choices as { id: string }
    expect(json).toMatchObject({
      reply: listed,
      pending_question: 'Which city?',
      pending_choices: { id: json.turn_id, options: input.options, allow_text: true, multiple: false },
    })
    const { made } = await served.users.add({ name: 'Ben', scope: 'chat' })
    expect(await say({ message: 'Oslo', answers: id }, made.token)).toMatchObject({ status: 409 })
    expect(await say({ message: 'Oslo', answers: id, untrusted: true })).toMatchObject({ status: 403 })
    expect(await served.call({ path: '/api/v1/notify', body: { message: 'Oslo', answers: id } })).toMatchObject({
      status: 403,
    })
    expect(await say({ message: 'Bergen', answers: id })).toMatchObject({ status: 400 })
    const answered = await say({ message: 'Oslo', answers: id })
    expect(answered).toMatchObject({ status: 200, json: { reply: 'Rain 2.' } })
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('The user chose: Oslo')
    expect(await say({ message: 'Austin', answers: id })).toMatchObject({ status: 409, json: { code: 'conflict' } })
    expect((await say({ message: 'Oslo', answers: id })).json.turn_id).toBe(answered.json.turn_id)
    expect(model.requests).toHaveLength(2)
  })

  it('LOOP-4a two clients that answer at once: one wins, the other gets 409, and nothing is lost', async () => {
    const model = createScriptedModel({ script })
    const served = await serve({ model })
    const { json } = await served.call({ path: chat, body: { message: 'weather' } })
    const answers = json.turn_id
    const both = await Promise.all(
      ['Austin', 'Oslo'].map((message) => served.call({ path: chat, body: { message, answers } })),
    )
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(model.requests).toHaveLength(2)
  })

  it.each([false, true])('LOOP-4a HTTP-5 an OpenAI client reads the numbered list, streamed: %s', async (stream) => {
    const served = await serve({ model: createScriptedModel({ script }) })
    const body = { model: 'familiar', messages: [{ role: 'user', content: 'weather' }], stream }
    const { text } = await served.call({ path: '/v1/chat/completions', body })
    const spoken = stream
      ? [...text.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)].map(([, part]) => JSON.parse(part ?? '""')).join('')
      : JSON.parse(text).choices[0].message.content
    expect(spoken).toBe(listed)
  })
})
