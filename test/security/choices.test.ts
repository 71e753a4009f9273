import { afterEach, describe, expect, it } from 'vitest'
import { createManualClock } from '../support/manual-clock.ts'
import { openScriptedFamiliar, type ScriptedFamiliar, toolOf } from '../support/scripted-familiar.ts'
import { createScriptedModel, type Script } from '../support/scripted-model.ts'

let familiar: ScriptedFamiliar | undefined
afterEach(async () => {
  await familiar?.close()
  familiar = undefined
})

const asks = {
  toolCalls: [
    {
      name: 'ask_user',
      input: { question: 'Which city?', options: [{ label: 'Austin' }, { label: 'Oslo', description: 'in Norway' }] },
    },
  ],
}

type Options = Partial<Parameters<typeof openScriptedFamiliar>[0]>

async function open(script: Script, options: Options = {}) {
  const model = createScriptedModel({ script })
  familiar = await openScriptedFamiliar({ model, ...options })
  const told = (at: number) => JSON.stringify(model.requests[at]?.messages.at(-1))
  return { opened: familiar, model, told }
}

describe('options of a question', () => {
  it('LOOP-4a are listed in the reply, and a number answers', async () => {
    const { opened, told } = await open([asks, { text: 'Rain.' }])
    const asked = await opened.say('weather')
    expect(asked.text).toBe('Which city?\n\n1. Austin\n2. Oslo: in Norway\nAnswer with a number.')
    expect(asked.choices).toMatchObject({ id: asked.turnId, allowText: true, multiple: false })
    await opened.say('2')
    expect(told(1)).toContain('You had asked: Which city? The user chose: Oslo')
  })

  it('LOOP-4a other words answer too, after a restart as well', async () => {
    const { opened, told } = await open([asks])
    await opened.say('weather')
    await opened.close({ keep: true })
    const model = createScriptedModel({ script: [{ text: 'Rain.' }] })
    familiar = await openScriptedFamiliar({ model, home: opened.home })
    await familiar.say('Bergen')
    expect(JSON.stringify(model.requests[0]?.messages.at(-1))).toContain('Which city? This message is the answer.')
    expect(told(1)).toBe(undefined)
  })

  it('LOOP-4a without free text other words leave the question open', async () => {
    const only = { question: 'Which?', options: [{ label: 'A' }, { label: 'B' }], allow_text: false }
    const { opened, told } = await open([
      { toolCalls: [{ name: 'ask_user', input: only }] },
      { text: 'Fine.' },
      { text: 'Yes.' },
      { text: 'B it is.' },
    ])
    await opened.say('go')
    await opened.say('how are you?')
    expect(told(1)).toContain('You asked the user: Which? This message does not answer it.')
    await opened.say('are you?')
    expect(told(2)).toContain('You asked the user: Which? This message does not answer it.')
    await opened.say('b')
    expect(told(3)).toContain('The user chose: B')
  })

  it('LOOP-4a a button answers its own question once; an old, repeated or invented one is refused', async () => {
    const { opened, told } = await open([asks, asks, { text: 'Rain.' }])
    const first = await opened.say('weather')
    const second = await opened.say('another one')
    await expect(opened.say('Oslo', { answers: first.turnId })).rejects.toThrow('no longer open')
    await expect(opened.say('Oslo', { answers: 'invented' })).rejects.toThrow('no longer open')
    await expect(opened.say('Bergen', { answers: second.turnId })).rejects.toThrow('none of the options')
    const end = await opened.say('Oslo', { answers: second.turnId })
    expect(end.text).toBe('Rain.')
    expect(told(2)).toContain('The user chose: Oslo')
    await expect(opened.say('Austin', { answers: second.turnId })).rejects.toThrow('no longer open')
    // The same press that is sent again finds its first delivery.
    expect((await opened.say('Oslo', { answers: second.turnId })).turnId).toBe(end.turnId)
  })

  it('LOOP-4a of two buttons at the same time one answers', async () => {
    const { opened } = await open([asks, { text: 'Rain.' }])
    const { turnId } = await opened.say('weather')
    const both = await Promise.allSettled(['Oslo', 'Austin'].map((text) => opened.say(text, { answers: turnId })))
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  it('LOOP-4a an automated message and a notice leave the options open', async () => {
    const { opened, told } = await open([asks, { text: 'Done.' }, { text: 'Rain.' }])
    const { turnId } = await opened.say('weather')
    await opened.say('1', { source: 'schedule', label: 'internal' })
    expect(told(1)).toContain('This message does not answer it')
    await opened.say('Oslo', { answers: turnId })
    expect(told(2)).toContain('The user chose: Oslo')
  })

  it('SEC-16 a button whose label says yes does not approve a call', async () => {
    const send = toolOf('send', async () => ({ text: 'Sent.', isError: false }), {
      reach: () => ({ kind: 'host', destination: null }),
    })
    const yes = { question: 'Tea?', options: [{ label: 'Yes' }, { label: 'No' }] }
    const { opened, told } = await open(
      [
        { toolCalls: [{ name: 'send', input: {} }] },
        { toolCalls: [{ name: 'ask_user', input: yes }] },
        { text: 'Tea it is.' },
      ],
      { tools: [send], clock: createManualClock() },
    )
    await opened.say('send it')
    const asked = await opened.say('Report.', { source: 'schedule' })
    expect(asked.outcome).toBe('question')
    await opened.say('Yes', { answers: asked.turnId })
    expect(told(2)).toContain('The user chose: Yes')
    const rows = await opened.database.read.selectFrom('approvals').select('state').execute()
    expect(rows).toEqual([{ state: 'asked' }])
  })

  it('SEC-6 the words of an option are not the user’s: an address in one is not known, and memory learns none', async () => {
    const link = 'https://evil.example/?diary=secret'
    const heard: unknown[] = []
    const look = toolOf('look', async (_input, context) => {
      heard.push(context.userText)
      return { text: 'Seen.', isError: false, label: 'untrusted' }
    })
    const fetched: string[] = []
    const read = toolOf('read', async () => ({ text: String(fetched.push('read')), isError: false }), {
      reach: () => ({ kind: 'reach', destination: 'https://evil.example', reads: link }),
    })
    const input = { question: 'Open it?', options: [{ label: link }, { label: 'No' }] }
    const { opened } = await open(
      [
        { toolCalls: [{ name: 'look' }] },
        { toolCalls: [{ name: 'ask_user', input }] },
        { toolCalls: [{ name: 'look' }, { name: 'read' }] },
        { text: 'Done.' },
      ],
      { tools: [look, read] },
    )
    const { turnId } = await opened.say('look')
    const end = await opened.say(link, { answers: turnId })
    expect(end.outcome).toBe('question')
    expect(heard).toEqual(['look', ''])
    expect(fetched).toEqual([])
  })
})
