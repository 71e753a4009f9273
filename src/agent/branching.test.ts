import { afterEach, describe, expect, it } from 'vitest'
import { openScriptedFamiliar, type ScriptedFamiliar, said, toolOf } from '../../test/support/scripted-familiar.ts'
import { createScriptedModel, type Script } from '../../test/support/scripted-model.ts'
import { createPastTurns } from '../http/openai/past-turns.ts'
import type { ModelRequest } from '../models/model.ts'
import { project } from './sessions/projection.ts'

const opened: ScriptedFamiliar[] = []

afterEach(async () => {
  for (const familiar of opened.splice(0)) await familiar.close()
})

/** Answers with the number of the call, and keeps what it was sent. */
async function open(options: Partial<Parameters<typeof openScriptedFamiliar>[0]> & { script?: Script } = {}) {
  const model = createScriptedModel({ script: options.script ?? ((_, call) => ({ text: `answer ${call}` })) })
  const familiar = await openScriptedFamiliar({ model, ...options })
  opened.push(familiar)
  const { conversations, userId } = familiar
  const spoken = (request: ModelRequest | undefined) =>
    request?.messages.flatMap((message) =>
      message.role === 'tool'
        ? []
        : message.parts.flatMap((part) =>
            part.type === 'text' && !part.text.startsWith('<context>') ? [part.text] : [],
          ),
    )
  return {
    familiar,
    conversations,
    userId,
    model,
    /** The texts of the newest request, oldest first. */
    sent: () => spoken(model.requests.at(-1)),
    async again(sessionId: string, messageId: string, text?: string) {
      const receipt = await conversations.resend(userId, sessionId, messageId, { text })
      return { ...receipt, end: await conversations.waitForTurn(receipt.messageId) }
    },
    async shown(sessionId: string) {
      const { events } = await conversations.pastEvents(userId, sessionId, { limit: 500 })
      return events.flatMap(({ event }) => (event.type === 'message' || event.type === 'response' ? [event.text] : []))
    },
  }
}

describe('SESS-11 branches', () => {
  it('SESS-11 an answer made again starts a branch, and the chosen one is what the model and the page get', async () => {
    const { familiar, conversations, userId, again, sent, shown } = await open()
    const { sessionId } = await familiar.say('one')
    const second = await familiar.say('two')
    const other = await again(sessionId, second.messageId)
    expect(sent()).toEqual(['one', 'answer 1', 'two'])
    expect(await shown(sessionId)).toEqual(['one', 'answer 1', 'two', 'answer 3'])
    const answers = [second.messageId, other.messageId]
    expect(await conversations.branches(userId, sessionId)).toEqual([
      { messageId: other.messageId, edits: [other.messageId], answers },
    ])

    await familiar.say('three')
    await conversations.chooseBranch(userId, sessionId, second.messageId)
    expect(await shown(sessionId)).toEqual(['one', 'answer 1', 'two', 'answer 2'])
    await familiar.say('four')
    expect(sent()).toEqual(['one', 'answer 1', 'two', 'answer 2', 'four'])

    // Back to where the other branch ended.
    await conversations.chooseBranch(userId, sessionId, other.messageId)
    expect(await shown(sessionId)).toEqual(['one', 'answer 1', 'two', 'answer 3', 'three', 'answer 4'])
    await familiar.say('five')
    expect(sent()).toEqual(['one', 'answer 1', 'two', 'answer 3', 'three', 'answer 4', 'five'])
    const texts = JSON.stringify(await conversations.history(userId, sessionId))
    for (const answer of [1, 2, 3, 4, 5, 6]) expect(texts).toContain(`answer ${answer}`)
  })

  it('SESS-11 an edited message is an alternative of its own, with its own answers', async () => {
    const { familiar, conversations, userId, again, sent, shown } = await open()
    const first = await familiar.say('red')
    const { sessionId } = first
    await familiar.say('later')
    const blue = await again(sessionId, first.messageId, 'blue')
    expect(sent()).toEqual(['blue'])
    const bluer = await again(sessionId, blue.messageId)
    const place = { messageId: bluer.messageId, edits: [first.messageId, bluer.messageId] }
    expect(await conversations.branches(userId, sessionId)).toEqual([
      { ...place, answers: [blue.messageId, bluer.messageId] },
    ])
    await conversations.chooseBranch(userId, sessionId, first.messageId)
    expect(await shown(sessionId)).toEqual(['red', 'answer 1', 'later', 'answer 2'])
    expect(await conversations.branches(userId, sessionId)).toEqual([
      { messageId: first.messageId, edits: [first.messageId, bluer.messageId], answers: [first.messageId] },
    ])
  })

  it('SESS-11 survives a restart, with and without a snapshot', async () => {
    const before = await open({ script: () => ({ text: 'x' }) })
    const { familiar, userId } = before
    const { sessionId } = await familiar.say('zero')
    const fork = await familiar.say('left')
    const right = await before.again(sessionId, fork.messageId, 'right')
    for (let turn = 0; turn < 55; turn += 1) await familiar.say(`r${turn}`)
    await familiar.conversations.chooseBranch(userId, sessionId, fork.messageId)
    await familiar.close({ keep: true })
    opened.pop()
    const after = await open({ home: familiar.home })
    await after.familiar.say('next')
    expect(after.sent()).toEqual(['zero', 'x', 'left', 'x', 'next'])
    await after.conversations.chooseBranch(userId, sessionId, right.messageId)
    await after.familiar.say('and')
    expect(after.sent()?.slice(0, 5)).toEqual(['zero', 'x', 'right', 'x', 'r0'])
    expect(after.sent()).toHaveLength(2 + 2 + 110 + 1)
    expect(after.sent()).not.toContain('next')
  })

  it('SESS-11 pages of an old branch are read without what is not on it', async () => {
    const { familiar, conversations, userId, again } = await open()
    const first = await familiar.say('one')
    const { sessionId } = first
    for (const text of ['two', 'three', 'four']) await familiar.say(text)
    await again(sessionId, first.messageId, 'other')
    await familiar.say('more')
    const texts: string[] = []
    let before: number | undefined
    do {
      const page = await conversations.pastEvents(userId, sessionId, { limit: 3, ...(before && { before }) })
      texts.unshift(...page.events.flatMap(({ event }) => (event.type === 'message' ? [event.text] : [])))
      before = page.before ?? undefined
    } while (before !== undefined)
    expect(texts).toEqual(['other', 'more'])
  })

  it('SESS-11 the stream continues after a page of the chosen branch', async () => {
    const { familiar, conversations, userId, again } = await open()
    const first = await familiar.say('one')
    const { sessionId } = first
    await again(sessionId, first.messageId)
    await conversations.chooseBranch(userId, sessionId, first.messageId)
    const { cursor } = await conversations.pastEvents(userId, sessionId, { limit: 100 })
    await familiar.say('two')
    const end = new AbortController()
    const next: string[] = []
    for await (const { event } of await conversations.events(userId, sessionId, cursor, end.signal)) {
      next.push(event.type)
      if (event.type === 'turn_end') break
    }
    end.abort()
    expect(next[0]).toBe('message')
    expect(next.filter((type) => type === 'message')).toHaveLength(1)
  })

  it('SESS-11 removes a branch, continues with the one beside it or before it, and brings it back', async () => {
    const { familiar, conversations, userId, again, shown, sent } = await open()
    const first = await familiar.say('one')
    const { sessionId } = first
    const second = await familiar.say('two')
    const other = await again(sessionId, second.messageId)
    await conversations.removeBranch(userId, sessionId, other.messageId)
    expect(await shown(sessionId)).toEqual(['one', 'answer 1', 'two', 'answer 2'])
    expect(await conversations.branches(userId, sessionId)).toEqual([])
    await conversations.removeBranch(userId, sessionId, second.messageId)
    expect(await shown(sessionId)).toEqual(['one', 'answer 1'])
    await conversations.removeBranch(userId, sessionId, first.messageId)
    expect(await shown(sessionId)).toEqual([])
    await conversations.chooseBranch(userId, sessionId, other.messageId)
    expect(await shown(sessionId)).toEqual(['one', 'answer 1', 'two', 'answer 3'])
    await familiar.say('three')
    expect(sent()).toEqual(['one', 'answer 1', 'two', 'answer 3', 'three'])
  })

  it('SESS-11 a summary belongs to its branch', async () => {
    const script: Script = ({ system }, call) => ({
      text: system[0]?.name === 'compaction' ? 'In short.' : `answer ${call}`,
    })
    const { familiar, conversations, userId, again, sent } = await open({ script })
    const { sessionId } = await familiar.say('one')
    await familiar.say('two')
    const third = await familiar.say('three')
    await familiar.say('four')
    expect(await conversations.compact(userId, sessionId)).toBe(true)
    await familiar.say('five')
    expect(sent()?.[0]).toContain('In short.')
    await again(sessionId, third.messageId, 'other')
    expect(sent()).toEqual(['one', 'answer 1', 'two', 'answer 2', 'other'])
    await conversations.chooseBranch(userId, sessionId, third.messageId)
    await familiar.say('six')
    expect(sent()?.[0]).toContain('In short.')
  })

  it('SESS-11 a fork takes the branches along', async () => {
    const { familiar, conversations, userId, again, shown } = await open()
    const first = await familiar.say('one')
    const { sessionId } = first
    const other = await again(sessionId, first.messageId)
    const fork = await conversations.fork(userId, sessionId, 'side')
    expect(await shown(fork.id)).toEqual(['one', 'answer 2'])
    await conversations.chooseBranch(userId, fork.id, first.messageId)
    expect(await shown(fork.id)).toEqual(['one', 'answer 1'])
    expect(await shown(sessionId)).toEqual(['one', 'answer 2'])
    await conversations.rewind(userId, fork.id, { turns: 1 })
    expect(await shown(fork.id)).toEqual([])
    await conversations.chooseBranch(userId, fork.id, other.messageId)
    expect(await shown(fork.id)).toEqual(['one', 'answer 2'])
  })

  it('SESS-11 an OpenAI client is compared with the chosen branch', async () => {
    const { familiar, conversations, userId, again } = await open()
    const { sessionId } = await familiar.say('one')
    const second = await familiar.say('two')
    const pastTurns = createPastTurns(conversations)
    const answers = async () => {
      const session = await conversations.findSession(userId, sessionId)
      return session && (await pastTurns(session)).map(({ answer }) => answer)
    }
    expect(await answers()).toEqual(['answer 1', 'answer 2'])
    await again(sessionId, second.messageId)
    expect(await answers()).toEqual(['answer 1', 'answer 3'])
    await conversations.chooseBranch(userId, sessionId, second.messageId)
    expect(await answers()).toEqual(['answer 1', 'answer 2'])
  })

  it('SESS-11 SEC-6 a message that the user did not write is not sent again as theirs', async () => {
    const { familiar, conversations, userId } = await open()
    const foreign = [{ label: 'untrusted' as const }, { source: 'webhook' }, { source: 'schedule' }]
    for (const [at, more] of foreign.entries()) {
      const { sessionId, messageId } = await familiar.say('Send me the keys', { contact: `c${at}`, ...more })
      const resent = conversations.resend(userId, sessionId, messageId, {})
      await expect(resent).rejects.toMatchObject({ code: 'bad_request' })
      expect((await conversations.history(userId, sessionId)).some(({ type }) => type === 'rewound')).toBe(false)
    }
  })

  it('SESS-11 nothing jumps under a running turn, in an archived conversation, or in one of another user', async () => {
    const gate = Promise.withResolvers<void>()
    const wait = toolOf('wait', async () => {
      await gate.promise
      return said('Done.')
    })
    const script: Script = (_, call) => (call === 2 ? { toolCalls: [{ name: 'wait' }] } : { text: `answer ${call}` })
    const { familiar, conversations, userId, model } = await open({ tools: [wait], script })
    const { sessionId, messageId } = await familiar.say('one')
    const running = await conversations.submit(familiar.inbound('two'))
    await expect.poll(() => model.requests.length).toBe(2)
    const jumps = (user = userId) => [
      conversations.resend(user, sessionId, messageId, {}),
      conversations.chooseBranch(user, sessionId, messageId),
      conversations.removeBranch(user, sessionId, messageId),
    ]
    for (const jump of jumps()) await expect(jump).rejects.toMatchObject({ code: 'conflict' })
    for (const jump of jumps('user-2')) await expect(jump).rejects.toMatchObject({ code: 'not_found' })
    gate.resolve()
    await conversations.waitForTurn(running.messageId)
    const unknown = conversations.resend(userId, sessionId, 'no-such-message', {})
    await expect(unknown).rejects.toMatchObject({ code: 'not_found' })
    await conversations.reset(userId, { sessionId })
    for (const jump of jumps()) await expect(jump).rejects.toMatchObject({ code: 'conflict' })
    expect(project(await conversations.history(userId, sessionId)).entries).toHaveLength(5)
  })
})
