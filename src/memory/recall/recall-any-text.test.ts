import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { openRecallStore, type RecallStore } from '../../../test/support/recall-store.ts'

let store: RecallStore
beforeEach(async () => {
  store = await openRecallStore()
})
afterEach(() => store.close())

describe('recall of any text', () => {
  it.each([
    '"bike',
    'bike"',
    'bike*',
    '^bike',
    'NEAR(bike red, 2)',
    'text : bike',
    'scope:bike',
    '{scope text} : bike',
    'bike AND NOT bike',
    'bike OR',
    '(bike',
    "bike'); drop table memories; --",
    'bike + -red',
    '-bike',
    'bike\u0000',
    'bike \ud800',
    '%bike_',
    'b'.repeat(100_000).concat(' bike'),
  ])('MEM-3 treats signs as plain text: %.40s', async (question) => {
    await store.note('The bike is red')
    await store.note('The sky is blue')
    // Only the beginning of a very long question is read.
    expect(await store.ask(question)).toEqual(question.length > 10_000 ? [] : ['The bike is red'])
    expect(await store.ask('bike')).toEqual(['The bike is red'])
  })

  it.each([
    '',
    ' ',
    '\n\t',
    '?!',
    '🙂',
    '\u0000',
    '\ud800',
    'What about it?',
    'who are you and what is this',
    '::',
    '"',
  ])('MEM-3 returns nothing for an empty question: %j', async (question) => {
    await store.note('The bike is red')
    await store.note('What is this about, and who are you?')
    expect(await store.ask(question)).toEqual([])
  })

  it.each([
    ['我不能吃虾', '我可以吃虾吗', '天空是蓝色的'],
    ['エビアレルギーがあります', 'アレルギー', '空が青い'],
    ['새우 알레르기가 있어요', '알레르기', '하늘이 파랗다'],
    ['ฉันแพ้กุ้ง', 'แพ้กุ้งไหม', 'ท้องฟ้าสีฟ้า'],
    ['אני אלרגי לשרימפס', 'מי אלרגי?', 'השמיים כחולים'],
    ['لدي حساسية من الروبيان', 'هل حساسية؟', 'السماء زرقاء'],
    ['У меня аллергия на креветки', 'аллергия', 'Небо голубое'],
    ['Ich habe eine Nussallergie, größer denn je', 'GRÖSSER größer', 'Der Himmel ist blau'],
    ['party 🎉 at the lake', 'lake 🎉', 'sky'],
  ])('MEM-3 finds in any script: %s', async (answer, question, other) => {
    await store.note(other)
    await store.note(answer)
    expect((await store.ask(question))[0]).toBe(answer)
    expect(await store.ask(question)).not.toContain(other)
  })

  it('MEM-3 finds a word at the end of a note of 100 kB, and another note', async () => {
    await store.note(`${'All work and no play. '.repeat(4_700)} The password hint is marzipan`)
    await store.note('I like marzipan')
    const found = await store.ask('What about marzipan?')
    expect(found).toHaveLength(2)
    expect(found[0]).toBe('I like marzipan')
  })

  it('MEM-3 finds a note with ten thousand tags', async () => {
    const tags = Array.from({ length: 10_000 }, (_, index) => `tag${index}`)
    await store.note('The bike is red', { tags })
    await store.note('The bike is blue')
    expect(await store.ask('tag3')).toEqual(['The bike is red'])
    expect(await store.ask('red bike')).toHaveLength(2)
  })

  it('MEM-3 accepts a question of 100 kB', async () => {
    await store.note('The bike is red')
    expect(await store.ask(`bike ${'and so on '.repeat(10_000)}`)).toEqual(['The bike is red'])
    expect(await store.ask('bike '.repeat(20_000))).toEqual(['The bike is red'])
    const manyWords = Array.from({ length: 10_000 }, (_, index) => `word${index}`).join(' ')
    expect(await store.ask(`bike ${manyWords}`)).toEqual(['The bike is red'])
  })

  it('MEM-3 accepts any question about any memories', async () => {
    const word = fc.oneof(anyText, fc.constantFrom('bike', 'last week', 'Anna', 'how many', '3 May', '"', '*', 'NEAR'))
    const text = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' '))
    await fc.assert(
      fc.asyncProperty(text, text, fc.nat({ max: 20 }), async (content, question, limit) => {
        await store.note(`x ${content}`, {
          kind: 'chunk',
          threadId: 'thread',
          position: limit,
          speaker: content || 'Anna',
        })
        await store.clock.advance(11_000)
        const found = await store.recall({ userId: 'max', text: question, limit })
        expect(found.length).toBeLessThanOrEqual(limit)
        expect(found.every(({ score }) => Number.isFinite(score))).toBe(true)
        expect(new Set(found.map(({ memory }) => memory.id)).size).toBe(found.length)
      }),
      { numRuns: 60 },
    )
  })
})
