import { describe, expect, it } from 'vitest'
import { toolContext } from '../../../test/support/tool-context.ts'
import { react, reason } from './builtin-tools.ts'
import { createMessage } from './message.ts'

describe('message', () => {
  it('sends the text immediately, and does not claim delivery without a channel', async () => {
    expect(await createMessage().run({ text: ' One moment. ' }, toolContext())).toEqual({
      text: expect.stringContaining('No other channel reaches them'),
      isError: false,
      says: 'One moment.',
    })
  })

  it.each([
    ['sent', /^Sent to the user on telegram/, false],
    ['queued', /^Queued .* not confirmed yet/, false],
    ['failed', /^Not sent on telegram: blocked/, true],
  ] as const)('OUT-1 reports that the message is %s', async (state, text, isError) => {
    const tool = createMessage({ messageUser: async () => ({ state, channel: 'telegram', reason: 'blocked' }) })
    expect(await tool.run({ text: 'Hi' }, toolContext())).toMatchObject({ text: expect.stringMatching(text), isError })
  })
})

describe('react', () => {
  it.each([
    ['👍', '👍'],
    ['❤', '❤️'],
    [' 👩‍👩‍👧 ', '👩‍👩‍👧'],
    ['🇲🇹', '🇲🇹'],
    ['👍🏽', '👍🏽'],
  ])('accepts one emoji: %s', async (emoji, reaction) => {
    expect(await react.run({ emoji }, toolContext())).toMatchObject({ isError: false, reaction })
  })

  it.each(['👍👍', 'ok', '1', 'a👍', '<b>', '\u202e👍', '☃x'])('rejects anything else: %j', async (emoji) => {
    const outcome = await react.run({ emoji }, toolContext())
    expect(outcome).toMatchObject({ isError: true })
    expect(outcome.reaction).toBeUndefined()
  })
})

describe('reason', () => {
  it('has no effect', async () => {
    expect(await reason.run({ thought: 'First …' }, toolContext())).toEqual({ text: 'Go on.', isError: false })
  })
})
