import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'

const card = {
  title: 'Trains',
  html: '<p>17:42</p>',
  text: '17:42',
  accentColor: null,
  backgroundColor: null,
  icon: null,
}

describe('requests of the page', () => {
  let served: ServedFamiliar
  let sessionId: string
  let hash: string
  let others: string
  /** The names of the tools in each request. */
  const offered: string[][] = []

  beforeAll(async () => {
    const show = toolOf('show', async () => {
      const part = await served.familiar.media.put({
        name: 'a.html',
        mediaType: 'text/html',
        data: Buffer.from('<script>1</script>'),
      })
      hash = part.hash
      return { ...said('Shown.'), card, media: [part] }
    })
    const model = createScriptedModel({
      script({ messages, tools }) {
        offered.push(tools.map(({ name }) => name))
        return messages.at(-1)?.role === 'tool'
          ? { text: 'There.' }
          : { toolCalls: [{ id: 'call-1', name: 'show', input: {} }] }
      },
    })
    served = await serveFamiliar({ model, tools: [show] })
    ;({ sessionId } = await served.familiar.say('Show me'))
    others = (await served.users.add({ name: 'Ben', scope: 'owner' })).made.token
  })
  afterAll(() => served.close())

  const get = (rest: string, token?: string) =>
    served.call({ path: `/api/v1/sessions/${sessionId}/${rest}`, ...(token && { token }) })

  it('SEC-9 a card comes as the document of a frame that may do nothing', async () => {
    const call = await callOfCard()
    const { status, json } = await get(`cards/${call}`)
    expect(status).toBe(200)
    expect(json.document).toContain("default-src 'none'")
    expect(json.document).toContain('17:42')
    expect((await get('cards/nothing')).status).toBe(404)
    expect((await get(`cards/${call}`, others)).status).toBe(404)
  })

  it('SEC-9 SEC-22 a file of a session is private to its user, and never served as a page of ours', async () => {
    const { status, headers, text } = await get(`media/${hash}`)
    expect({ status, text }).toEqual({ status: 200, text: '<script>1</script>' })
    expect(headers).toMatchObject({ 'content-type': 'application/octet-stream', 'x-content-type-options': 'nosniff' })
    expect((await get(`media/${hash}`, others)).status).toBe(404)
    // It is there, but not in a session of theirs.
    const theirs = await served.call({ path: '/api/v1/messages', token: others, body: { message: 'Hello' } })
    const path = `/api/v1/sessions/${theirs.json.session_id}/media/${hash}`
    expect((await served.call({ path, token: others })).status).toBe(404)
    expect((await get(`media/${'0'.repeat(64)}`)).status).toBe(404)
  })

  it('PAGE-2 the newest part comes first, earlier ones in pages without gaps', async () => {
    const whole = await get('turn-events?limit=1000')
    const pages: unknown[][] = []
    let before: unknown = ''
    do {
      const { json } = await get(`turn-events?limit=2${before ? `&before=${before}` : ''}`)
      pages.unshift(json.events as unknown[])
      before = json.before
    } while (before !== null)
    expect(pages.flat()).toEqual(whole.json.events)
    expect(pages.length).toBeGreaterThan(2)
  })

  it("PAGE-2 CLIENT-1 an edited message keeps its files, and the browser's abilities are sent with it", async () => {
    const picture = { name: 'a.png', media_type: 'image/png', data: 'AAAA' }
    const body = { message: 'Look', attachments: [picture] }
    const first = await served.call({ path: '/api/v1/messages', body: { ...body, session: 'with a file' } })
    await served.familiar.conversations.waitForTurn(String(first.json.message_id))
    const tool = { name: 'light', description: 'Switches a light', input_schema: { type: 'object' } }
    const sent = await served.call({
      path: `/api/v1/sessions/${first.json.session_id}/resend`,
      body: { message_id: first.json.message_id, message: 'Look closer', client_tools: [tool] },
    })
    expect(sent.status).toBe(201)
    await served.familiar.conversations.waitForTurn(String(sent.json.message_id))
    const { json } = await served.call({ path: `/api/v1/sessions/${sent.json.session_id}/turn-events?limit=100` })
    expect(json.events).toContainEqual({
      cursor: expect.anything(),
      event: expect.objectContaining({
        type: 'message',
        text: 'Look closer',
        media: [expect.objectContaining({ name: 'a.png' })],
      }),
    })
    expect(offered.at(-1)).toContain('light')
  })

  it('SESS-11 over HTTP an edited message is a branch of the session, which can be left, removed and chosen again', async () => {
    const path = `/api/v1/sessions/${sessionId}`
    const messages = async () => {
      const { events } = (await get('turn-events?limit=1000')).json as {
        events: { event: { type: string; messageId: string; text: string } }[]
      }
      return events.flatMap(({ event }) => (event.type === 'message' ? [event] : []))
    }
    const [first] = await messages()
    const sent = await served.call({
      path: `${path}/resend`,
      body: { message_id: first?.messageId, message: 'Another' },
    })
    expect(sent).toMatchObject({ status: 201, json: { session_id: sessionId } })
    const branch = String(sent.json.message_id)
    await served.familiar.conversations.waitForTurn(branch)
    expect((await messages()).map(({ text }) => text)).toEqual(['Another'])
    const edits = [first?.messageId, branch]
    const { branches } = (await get('branches')).json
    expect(branches).toEqual([{ message_id: branch, edits, answers: [branch] }])
    const remove = await served.call({ method: 'DELETE', path: `${path}/branches/${branch}` })
    expect(remove.status).toBe(200)
    expect((await messages())[0]).toEqual(first)
    const choose = (message_id: unknown) => served.call({ method: 'PUT', path: `${path}/branch`, body: { message_id } })
    expect((await choose(branch)).status).toBe(200)
    expect((await messages()).map(({ text }) => text)).toEqual(['Another'])
    expect((await choose(first?.messageId)).status).toBe(200)
    expect((await messages())[0]).toEqual(first)
  })

  async function callOfCard(): Promise<string> {
    const events = (await get('turn-events?limit=1000')).json.events as { event: { type: string; callId?: string } }[]
    return events.find(({ event }) => event.type === 'card')?.event.callId ?? ''
  }
})
