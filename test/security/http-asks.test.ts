import { describe, expect, it } from 'vitest'
import { createManualClock } from '../support/manual-clock.ts'
import { toolOf } from '../support/scripted-familiar.ts'
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

describe('approvals over HTTP', () => {
  const open = async () => {
    const clock = createManualClock()
    const sent: unknown[] = []
    const post = toolOf('post', async (given) => ({ text: `Posted ${sent.push(given)}.`, isError: false }), {
      reach: () => ({ kind: 'send', destination: 'https://mail.example' }),
    })
    const wanted: Script = ({ messages }) => {
      const last = JSON.stringify(messages.at(-1))
      return last.includes('Posted') || last.includes('denied') || last.includes('joke')
        ? { text: 'Done.' }
        : { toolCalls: [{ name: 'post', input: { to: 'Bob' } }] }
    }
    const model = createScriptedModel({ script: wanted, clock })
    const served = await serve({ model, tools: [post], clock })
    const say = async (message: string, more: object = {}) =>
      (await served.call({ path: chat, body: { message, ...more } })).json
    const asked = async () => {
      const { json } = await served.call({ path: '/api/v1/approvals' })
      return (json.approvals as { id: string }[])[0]?.id ?? ''
    }
    const answer = (id: string, body: object, token?: string) =>
      served.call({ path: `/api/v1/approvals/${id}`, body, ...(token && { token }) })
    const states = async () => {
      const rows = await served.familiar.database.read.selectFrom('approvals').select('state').execute()
      return rows.map(({ state }) => state)
    }
    return { served, clock, sent, say, asked, answer, states }
  }

  it('SEC-16 the reply lists the four answers, and a number or words give one', async () => {
    const { say, sent, states } = await open()
    const first = await say('post')
    expect(first).toMatchObject({
      outcome: 'question',
      reply: expect.stringMatching(
        /^Let post send this to mail\.example\? .*\n\n1\. Allow once\n2\. Allow in this conversation\n3\. Always allow post → mail\.example\n4\. Deny$/s,
      ),
    })
    expect((await say('2')).reply).toBe('Done.')
    expect(sent).toHaveLength(1)
    expect((await say('post another')).reply).toBe('Done.')
    expect(sent).toHaveLength(2)
    expect(await say('post', { session: 'other' })).toMatchObject({ outcome: 'question' })
    expect((await say('yes, always', { session: 'other' })).reply).toBe('Done.')
    expect((await say('post', { session: 'third' })).reply).toBe('Done.')
    expect(sent).toHaveLength(4)
    // Only the permissions count from now on.
    expect(await states()).toEqual(['used', 'used'])
  })

  it('SEC-16 a condition and other talk leave the question open, and it can be answered afterwards', async () => {
    const { say, sent, states } = await open()
    await say('post')
    const aside = await say('yes, if it is no joke')
    expect(aside.reply).toContain('Still waiting for your answer: Let post send this to mail.example?')
    expect(await states()).toEqual(['asked'])
    expect(sent).toEqual([])
    await say('just this once')
    expect(sent).toHaveLength(1)
  })

  it('SEC-16 answers of others, late answers and other scopes than offered are refused, and nothing is lost', async () => {
    const { served, say, asked, answer, sent, states, clock } = await open()
    await say('post')
    const id = await asked()
    const { made } = await served.users.add({ name: 'Ben', scope: 'chat' })
    expect(await answer(id, { answer: 'approve' }, made.token)).toMatchObject({ status: 404 })
    expect(await answer(id, { answer: 'approve', scope: 'forever' })).toMatchObject({ status: 400 })
    expect(await answer('invented', { answer: 'approve' })).toMatchObject({ status: 404 })
    await clock.advance(15 * 60_000)
    const late = await answer(id, { answer: 'approve', scope: 'always' })
    expect(late).toMatchObject({ status: 409, json: { error: expect.stringContaining('expired') } })
    expect(await say('yes')).toMatchObject({ outcome: 'question' })
    expect(sent).toEqual([])
    expect(await states()).toEqual(['asked', 'asked'])
  })

  it('SEC-16 of two clients that answer at once one wins, and the other sees the outcome', async () => {
    const { say, asked, answer, sent, states } = await open()
    await say('post')
    const id = await asked()
    const both = await Promise.all([answer(id, { answer: 'approve', scope: 'always' }), answer(id, { answer: 'deny' })])
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const isApproved = both[0]?.status === 200
    await expect.poll(states).toEqual([isApproved ? 'used' : 'denied'])
    await expect.poll(() => sent.length).toBe(isApproved ? 1 : 0)
  })
})
