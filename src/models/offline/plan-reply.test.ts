import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planReply } from './plan-reply.ts'
import type { Intent } from './sentence.ts'
import { evaluateSum } from './small-talk.ts'
import { inEnglish } from './texts.ts'

/** With the texts in English. */
function plan(words: string): Intent[] {
  return planReply({ words, files: [] }).map((intent) => {
    return intent.type === 'say' && typeof intent.text !== 'string'
      ? { ...intent, text: intent.text(inEnglish) }
      : intent
  })
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
  ])('OFFLINE-1 stores “%s” as said', (words, content) => {
    expect(stored(words)).toEqual([content])
  })

  it('OFFLINE-1 stores two facts of one message as two notes', () => {
    expect(stored('I like tea. My name is Max')).toEqual(['I like tea.', 'My name is Max'])
  })

  it('OFFLINE-1 stores a long text whole', () => {
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
  ])('OFFLINE-1 searches for “%s”', (words, query) => {
    expect(asked(words)).toEqual([query])
  })

  it('OFFLINE-1 splits two questions in one sentence', () => {
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
    expect(plan(words)).toMatchObject([{ type: 'say', text: expect.stringMatching(/I need a language model/i) }])
  })

  it.each([
    '我住在上海。',
    '我的狗叫小白',
    '小明的生日是五月三日。',
    '私は大阪に住んでいます。',
    '저는 부산에 살아요.',
    'Мою собаку зовут Шарик.',
    'أسكن في دبي.',
    'אני גר בחיפה.',
    'मेरा भाई दिल्ली में रहता है।',
    'ฉันอยู่ที่เชียงใหม่',
    'Ich wohne in Lübeck.',
    'Meine Schwester heißt Anna.',
    'J’habite à Lyon.',
    'Mi hermana se llama Ana.',
  ])('OFFLINE-1 stores a statement in any script: %s', (words) => {
    expect(plan(words)).toMatchObject([{ tool: 'store_memory', input: { content: words } }])
  })

  it.each([
    '帮我订一张机票',
    '请写一首诗',
    '你能告诉我天气吗',
    '詩を書いてください。',
    '시를 써 주세요.',
    'Напиши стихотворение.',
    'اكتب قصيدة',
    'Schreib mir ein Gedicht.',
    'Écris-moi un poème.',
    '谢谢',
    'ありがとうございます',
    'Спасибо!',
  ])('OFFLINE-2 does not treat a request or thanks as a statement: %s', (words) => {
    expect(plan(words)).toMatchObject([{ type: 'say', text: expect.stringMatching(/I need a language model/i) }])
  })

  it.each(['我住在哪里', '你知道我住在哪里吗', 'Где я живу', 'أين أسكن'])('OFFLINE-1 looks up %s', (words) => {
    const [intent] = plan(words)
    expect(intent).toMatchObject({ tool: 'recall_memory' })
  })

  it.each(['', '???', '👍', '\u0007'])('OFFLINE-2 reports that %j has no words', (words) => {
    expect(plan(words)).toMatchObject([{ type: 'say', text: expect.stringContaining('no words') }])
  })

  it('OFFLINE-2 names the sentence that it did not understand beside those it did', () => {
    const [first, second] = plan('I like tea. Book me a flight.')
    expect(first).toMatchObject({ tool: 'store_memory' })
    expect(second).toMatchObject({ text: 'Without a language model I did not understand “Book me a flight.”' })
  })

  it('OFFLINE-2 handles a limited number of requests and says so', () => {
    const intents = plan(Array.from({ length: 12 }, (_, index) => `I like number ${index}.`).join(' '))
    expect(intents).toHaveLength(9)
    expect(intents.at(-1)).toMatchObject({ text: expect.stringContaining('first 8') })
  })

  it.each([
    ['Don’t forget to water the plants', 'Don’t forget to water the plants'],
    ['Please remind me about the dentist', 'remind me about the dentist'],
    ['can you remind me to pay rent?', 'remind me to pay rent'],
  ])('OFFLINE-4 treats “%s” as a reminder', (words, content) => {
    expect(plan(words)).toMatchObject([{ tool: 'store_memory', input: { content, tags: ['reminder'] } }])
  })

  it.each([
    ['Remind me on Friday about the dentist', 'the dentist', 'friday'],
    ['Remind me tomorrow at nine to call the dentist', 'call the dentist', 'tomorrow at 9'],
    ['Remind me at seven pm to take the pill', 'take the pill', 'at 7 pm'],
    ['remind me in half an hour to turn off the oven', 'turn off the oven', 'in 30 minutes'],
    ['Remind me at 5pm to call Ruth', 'call Ruth', 'at 5pm'],
    ['Remind me to call Ruth tomorrow', 'call Ruth', 'tomorrow'],
  ])('OFFLINE-4 passes “%s” to the scheduler', (words, what, at) => {
    expect(plan(words)).toMatchObject([
      { tool: 'schedule_message', input: { message: `Remind the user: ${what}`, at } },
    ])
  })

  it('OFFLINE-4 evaluates expressions, and never throws', () => {
    expect(
      ['1 + 2 * 3', '(1 + 2) * 3', '2 ^ 3 ^ 2', '-4 / 8', '50% * 10', '1 / 0', '2 +', '(1', 'x + 1'].map(evaluateSum),
    ).toEqual([7, 9, 512, -0.5, 5, undefined, undefined, undefined, undefined])
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.+-*/^%() ') }), (text) => {
        const value = evaluateSum(text)
        return value === undefined || Number.isFinite(value)
      }),
    )
  })

  it('OFFLINE-4 asks what to remember or remind of if nothing was said', () => {
    expect(plan('Remember!')).toMatchObject([{ text: expect.stringContaining('What should I remember?') }])
    expect(plan('Remind me')).toMatchObject([{ text: expect.stringContaining('What should the reminder say?') }])
  })
})
