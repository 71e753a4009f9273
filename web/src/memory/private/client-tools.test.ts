import { describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../../../src/protocol/events.ts'
import type { Json } from '../../../../src/protocol/messages.ts'
import { addEvent, emptyConversation } from '../../chat/conversation.ts'
import { carryOut, sharedText } from './client-tools.ts'
import type { PrivateEntry } from './private-store.ts'
import { waitingCalls } from './use-client-tools.ts'

const made = { id: 'new', at: '2026-03-01T00:00:00.000Z', isReadable: true }

function entryOf(more: Partial<PrivateEntry> = {}): PrivateEntry {
  return {
    id: more.title ?? 'one',
    title: 'Tea',
    content: 'Green, no sugar.',
    category: 'personal',
    priority: 5,
    source: 'ai',
    isShared: false,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
    ...more,
  }
}

const save = (entries: PrivateEntry[], input: Json) => carryOut(entries, { name: 'save_memory', input }, made)
const remove = (entries: PrivateEntry[], memory_title: string) =>
  carryOut(entries, { name: 'delete_memory', input: { memory_title, reason: 'old' } }, made)

describe('an entry that the AI saves', () => {
  it('CLIENT-2 carries its source, and can be read again with the consent', () => {
    const input = { title: ' Tea ', content: 'Green.', category: 'personal', priority: 9 }
    const { saved, isError } = save([], input)
    expect(isError).toBe(false)
    expect(saved).toMatchObject([{ id: 'new', title: 'Tea', source: 'ai', isShared: true, priority: 9 }])
    const before = carryOut([], { name: 'save_memory', input }, { ...made, isReadable: false })
    expect(before.saved).toMatchObject([{ isShared: false }])
  })

  it('CLIENT-2 stays unshared under a new text after the user stopped sharing it', () => {
    const own = entryOf({ title: 'Tea', isShared: false })
    expect(save([own], { title: 'Tea', content: 'Black.' }).saved).toMatchObject([{ isShared: false }])
  })

  it.each([
    ['a long title', { title: 'x'.repeat(101), content: 'x', category: 'personal', priority: 1 }],
    ['a long content', { title: 'x', content: 'x'.repeat(10_001), category: 'personal', priority: 1 }],
    ['another category', { title: 'x', content: 'x', category: 'secret', priority: 1 }],
    ['a priority of 11', { title: 'x', content: 'x', category: 'custom', priority: 11 }],
    ['a priority of 1.5', { title: 'x', content: 'x', category: 'custom', priority: 1.5 }],
    ['no words', { title: ' ', content: 'x' }],
    ['no object', 'x'],
  ])('CLIENT-2 is refused with %s', (_, input) => {
    expect(save([], input)).toMatchObject({ isError: true, saved: [], removed: [] })
  })

  it('CLIENT-2 under the same title takes the place of its own, never of the user’s', () => {
    const own = entryOf({ title: 'tea', isShared: true })
    const users = entryOf({ title: 'Tea', id: 'users', source: 'user' })
    const { saved, removed } = save([own, users], { title: 'Tea', content: 'Black.' })
    expect(removed).toEqual([own])
    expect(saved).toMatchObject([{ content: 'Black.', isShared: true }])
  })

  it('CLIENT-3 a new name of the user replaces the AI’s old one only', () => {
    const old = entryOf({ title: 'User name is John', content: 'The user’s name is John.' })
    const dog = entryOf({ title: 'Dog’s name', content: 'The dog’s name is Rex.' })
    const users = entryOf({ title: 'My name is John', source: 'user' })
    const renamed = { title: 'User name is Jane', content: 'The user’s name is Jane.' }
    expect(save([old, dog, users], renamed).removed).toEqual([old])
    expect(save([old, dog, users], { title: 'Cat’s name', content: 'Her name is Mia.' }).removed).toEqual([])
  })
})

describe('an entry that the AI deletes', () => {
  it('CLIENT-2 is its own, by a whole title or the only one that has the words', () => {
    const entries = [entryOf({ title: 'Tea' }), entryOf({ title: 'Tea time' }), entryOf({ title: 'Coffee' })]
    expect(remove(entries, 'tea').removed).toMatchObject([{ title: 'Tea' }])
    expect(remove(entries, 'coff').removed).toMatchObject([{ title: 'Coffee' }])
    expect(remove(entries, 'te')).toMatchObject({ isError: true, removed: [] })
  })

  it('CLIENT-2 is never an entry of the user, which it cannot see either', () => {
    const entries = [entryOf({ title: 'Diary', source: 'user' })]
    const { text, removed, isError } = remove(entries, 'Diary')
    expect({ removed, isError }).toEqual({ removed: [], isError: true })
    expect(text).toBe(remove([], 'Diary').text)
  })
})

it('CLIENT-2 only shared entries are read, the most important first', () => {
  const entries = [
    entryOf({ title: 'Secret', content: 'the canary', priority: 10 }),
    entryOf({ title: 'Low', isShared: true, priority: 1 }),
    entryOf({ title: 'High', isShared: true, priority: 9, source: 'user' }),
  ]
  const { text } = carryOut(entries, { name: 'read_browser_memory', input: {} }, made)
  expect(text).not.toMatch(/Secret|canary/)
  expect(text.indexOf('High')).toBeLessThan(text.indexOf('Low'))
  const many = Array.from({ length: 9 }, (_, n) =>
    entryOf({ title: `${n}`, content: 'x'.repeat(5_000), isShared: true }),
  )
  expect(sharedText(many)).toMatch(/6 more did not fit\.$/)
})

const turnId = 't'
const message = (messageId: string): TurnEvent => ({
  type: 'message',
  messageId,
  text: '',
  sender: 'max',
  source: 'web',
})
const start: TurnEvent = { type: 'turn_start', turnId, model: 'm' }
const asked = (callId: string, name: string): TurnEvent[] => [
  { type: 'tool_start', turnId, callId, name, input: {} },
  { type: 'tool_calls', turnId, toolCalls: [{ id: callId, name, arguments: {} }], meta: { has_tool_calls: true } },
]
const waiting = (...events: TurnEvent[]) =>
  waitingCalls(events.reduce((all, event, index) => addEvent(all, { cursor: String(index), event }), emptyConversation))

it('CLIENT-2 the page makes the calls that wait for it, for the message before their turn', () => {
  const earlier: TurnEvent[] = [message('m0'), { type: 'turn_start', turnId: 'before', model: 'm' }]
  expect(waiting(...earlier, message('m1'), start, ...asked('c', 'save_memory'))).toEqual([
    { callId: 'c', name: 'save_memory', input: {}, messageIds: ['m1'] },
  ])
})

it('CLIENT-2 the page leaves calls of the daemon, of other clients and finished ones alone', () => {
  const [begun] = asked('c', 'save_memory')
  const result: TurnEvent = { type: 'tool_result', turnId, callId: 'c', name: '', result: '', isError: false }
  expect(waiting(message('m'), start, begun as TurnEvent)).toEqual([])
  expect(waiting(message('m'), start, ...asked('c', 'ring_bell'))).toEqual([])
  expect(waiting(message('m'), start, ...asked('c', 'save_memory'), result)).toEqual([])
  expect(
    waiting(message('m'), start, ...asked('c', 'save_memory'), { type: 'turn_end', turnId, outcome: 'stopped' }),
  ).toEqual([])
})
