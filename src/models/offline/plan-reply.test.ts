import { describe, expect, it } from 'vitest'
import type { Intent } from './ability.ts'
import { planReply } from './plan-reply.ts'

function plan(words: string): Intent[] {
  return planReply({ words, files: [] })
}

function stored(words: string): unknown[] {
  return plan(words).map((intent) =>
    intent.type === 'call' && intent.tool === 'store_memory' ? intent.input.content : null,
  )
}

function asked(words: string): unknown[] {
  return plan(words).map((intent) => {
    if (intent.type !== 'call') return null
    return { recall_memory: intent.input.query, memory_query: intent.input.words }[intent.tool] ?? null
  })
}

describe('planReply', () => {
  it.each([
    ['Remember that I am allergic to shellfish', 'I am allergic to shellfish'],
    ['remember I am allergic to shellfish.', 'I am allergic to shellfish.'],
    ['Please remember my locker code is 4711', 'my locker code is 4711'],
    ['Hey Familiar, could you please remember that Anna is my sister?', 'Anna is my sister'],
    ['note that the bin goes out on Tuesday', 'the bin goes out on Tuesday'],
    ['Don’t forget that Tom hates olives', 'Tom hates olives'],
    ['Keep in mind: I wake at 6', 'I wake at 6'],
    ['FYI, the plumber is called Joe', 'the plumber is called Joe'],
    ['My name is Max', 'My name is Max'],
    ['I am allergic to nuts', 'I am allergic to nuts'],
    ['I love to swim', 'I love to swim'],
    ["I'm vegetarian", "I'm vegetarian"],
    ['I really hate olives', 'I really hate olives'],
    ['I don’t like coriander', 'I don’t like coriander'],
    ['Actually, my favourite colour is green', 'my favourite colour is green'],
    ["I'm 34 years old", "I'm 34 years old"],
    ['We have a cat named Tigger', 'We have a cat named Tigger'],
    ['Anna’s birthday is 5 May', 'Anna’s birthday is 5 May'],
    ['Remember that Dr. Smith is my dentist.', 'Dr. Smith is my dentist.'],
    ['Remember that it is due at 9 a.m. on Monday', 'it is due at 9 a.m. on Monday'],
    ['Remember that I am allergic to nuts. It is serious.', 'I am allergic to nuts. It is serious.'],
    ['Remember this:\n- milk\n- eggs?\n', '- milk\n- eggs?'],
    ['Remember that the door\nis blue', 'the door\nis blue'],
  ])('OFFLINE-1 keeps “%s” as told', (words, content) => {
    expect(stored(words)).toEqual([content])
  })

  it('OFFLINE-1 keeps two facts of one message as two notes', () => {
    expect(stored('I like tea. My name is Max')).toEqual(['I like tea.', 'My name is Max'])
  })

  it('OFFLINE-1 keeps a long text whole', () => {
    const text = 'A sentence of many. '.repeat(5_000).trim()
    expect(stored(`Remember that ${text}`)).toEqual([text])
  })

  it.each([
    ['What am I allergic to?', 'What am I allergic to?'],
    ['what am i allergic to', 'what am i allergic to'],
    ['Do I like olives?', 'Do I like olives?'],
    ['My name is?', 'My name is?'],
    ['What did I tell you about Anna?', 'Anna?'],
    ['Do you remember where I parked?', 'where I parked?'],
    ['Can you remember my birthday?', 'my birthday?'],
    ['Remind me what the wifi password is', 'what the wifi password is'],
    ['Tell me about the plumber', 'the plumber'],
    ['Is it true that I like tea?', 'I like tea?'],
    ['Could you tell me about the plumber?', 'the plumber?'],
    ['tell me when Anna was born', 'tell me when Anna was born'],
    ['¿Dónde vivo?', '¿Dónde vivo?'],
    ['什么？', '什么？'],
  ])('OFFLINE-1 looks for “%s”', (words, query) => {
    expect(asked(words)).toEqual([query])
  })

  it('OFFLINE-1 takes two questions in one sentence apart', () => {
    expect(asked("Hello, what am I allergic to and what's my wife's name?")).toEqual([
      'what am I allergic to',
      "what's my wife's name?",
    ])
  })

  it.each([
    'I love you',
    'I love it!',
    'Write me a poem.',
    'When I was ten we moved to Rome.',
    'Have a nice day',
    'Tell me a joke',
    'Can you help me write an email to Clara?',
    'How nice!',
  ])('OFFLINE-2 does not guess at “%s”', (words) => {
    expect(plan(words)).toMatchObject([{ type: 'say', text: expect.stringMatching(/no language model/i) }])
  })

  it.each(['', '???', '👍', '\u0007'])('OFFLINE-2 says that %j has no words', (words) => {
    expect(plan(words)).toMatchObject([{ type: 'say', text: expect.stringContaining('no words') }])
  })

  it('OFFLINE-2 names the sentence that it did not understand beside what it did', () => {
    const [first, second] = plan('I like tea. Book me a flight.')
    expect(first).toMatchObject({ tool: 'store_memory' })
    expect(second).toMatchObject({ text: 'Without a language model I did not understand “Book me a flight.”' })
  })

  it('OFFLINE-2 takes a bounded number of requests and says so', () => {
    const intents = plan(Array.from({ length: 12 }, (_, index) => `I like number ${index}.`).join(' '))
    expect(intents).toHaveLength(9)
    expect(intents.at(-1)).toMatchObject({ text: expect.stringContaining('first 8') })
  })

  it.each([
    ['Don’t forget to water the plants', 'Don’t forget to water the plants'],
    ['Please remind me about the dentist on Friday', 'remind me about the dentist on Friday'],
    ['can you remind me to pay rent?', 'remind me to pay rent'],
  ])('OFFLINE-4 takes “%s” as a reminder', (words, content) => {
    expect(plan(words)).toMatchObject([{ tool: 'store_memory', input: { content, tags: ['reminder'] } }])
  })

  it('OFFLINE-4 asks what to remember or remind of where nothing was said', () => {
    expect(plan('Remember!')).toMatchObject([{ text: expect.stringContaining('What should I remember?') }])
    expect(plan('Remind me')).toMatchObject([{ text: expect.stringContaining('What should the reminder say?') }])
  })
})
