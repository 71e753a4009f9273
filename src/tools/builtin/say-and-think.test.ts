import { describe, expect, it } from 'vitest'
import { toolContext } from '../../../test/support/tool-context.ts'
import { createMessage } from './message.ts'
import { createReact } from './react.ts'
import { createReason } from './reason.ts'

describe('message', () => {
  it('hands on what to say at once', async () => {
    expect(await createMessage().run({ text: ' One moment. ' }, toolContext())).toEqual({
      text: 'The user was told.',
      isError: false,
      says: 'One moment.',
    })
  })
})

describe('react', () => {
  it.each([
    ['👍', '👍'],
    ['❤', '❤️'],
    [' 👩‍👩‍👧 ', '👩‍👩‍👧'],
    ['🇲🇹', '🇲🇹'],
    ['👍🏽', '👍🏽'],
  ])('takes one emoji: %s', async (emoji, reaction) => {
    expect(await createReact().run({ emoji }, toolContext())).toMatchObject({ isError: false, reaction })
  })

  it.each(['👍👍', 'ok', '1', 'a👍', '<b>', '\u202e👍', '☃x'])('takes nothing else: %j', async (emoji) => {
    const outcome = await createReact().run({ emoji }, toolContext())
    expect(outcome).toMatchObject({ isError: true })
    expect(outcome.reaction).toBeUndefined()
  })
})

describe('reason', () => {
  it('does nothing but go on', async () => {
    expect(await createReason().run({ thought: 'First …' }, toolContext())).toEqual({ text: 'Go on.', isError: false })
  })
})
