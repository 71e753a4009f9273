import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitPassages } from '../words.ts'
import { isPlainQuestion, isTrivial, saysTheSame } from './exchange.ts'

describe('saysTheSame', () => {
  it.each([
    ['I am allergic to shellfish', 'The user is allergic to shellfish'],
    ['Anna likes long walks on the beach', 'Anna likes a long walk on the beach.'],
    ['User: birthday is 3 May', 'The user’s birthday is 3 May'],
  ])('MEM-8 treats as one: %s / %s', (a, b) => {
    expect(saysTheSame(a, b)).toBe(true)
    expect(saysTheSame(b, a)).toBe(true)
  })

  it.each([
    ['I like tea', 'I do not like tea'],
    [
      'The flight with Anna to Rome leaves at gate seven on 17',
      'The flight with Anna to Rome leaves at gate seven on 18',
    ],
    ['The old train from home to work goes via Rome daily', 'The old train from home to work goes via Paris daily'],
    ['Anna likes tea', 'Annabel likes tea'],
    ['Anna likes tea', 'Anna likes tea and walks in the mountains'],
    ['', 'I like tea'],
  ])('MEM-8 treats as two: %s / %s', (a, b) => {
    expect(saysTheSame(a, b)).toBe(false)
    expect(saysTheSame(b, a)).toBe(false)
  })
})

describe('isTrivial', () => {
  it.each([
    'ok',
    'Thanks!',
    'Good morning, how are you?',
    'yes please',
    '/status all of it',
    '👍',
    '',
    'Sounds great, thank you!',
    'Danke schön!',
    '谢谢你！',
    '好的，没问题。',
    'ありがとうございます。',
    'شكرا جزيلا',
  ])('MEM-8 finds nothing to keep in: %s', (text) => {
    expect(isTrivial(text)).toBe(true)
  })

  it.each([
    'I moved to Rome',
    'Thanks, Anna sends her love from Oslo',
    '我对虾过敏 所以 不吃',
    '我住在上海。',
    '私は大阪に住んでいます。',
    'ฉันแพ้กุ้ง',
  ])('MEM-8 checks further: %s', (text) => {
    expect(isTrivial(text)).toBe(false)
  })
})

describe('isPlainQuestion', () => {
  it.each([
    'What am I allergic to?',
    'when is Anna’s birthday',
    'Do I like tea?',
    '我住在哪里？',
    'どこに住んでいますか？',
    'Wo wohne ich?',
    'أين أسكن؟',
  ])('MEM-1 recognizes a question: %s', (text) => {
    expect(isPlainQuestion(text)).toBe(true)
  })

  it.each([
    'I am allergic to nuts. What can I eat?',
    'I am allergic to nuts',
    'Can you book a table at Luigi for our anniversary on 4 June?',
    'Could you call my sister?',
    'Is Anna coming over?',
    'What shall I cook on Friday?',
    'Will it take 40 minutes?',
    '能帮我的妈妈订一张票吗？',
    'What could I cook for Anna, who is vegan and comes over on Friday with her two children?',
  ])('MEM-1 recognizes information: %s', (text) => {
    expect(isPlainQuestion(text)).toBe(false)
  })
})

describe('splitPassages', () => {
  it('MEM-1 keeps every word, in order, in passages of limited length', () => {
    const sentence = fc.stringMatching(/^[A-Za-z😀 ]{0,60}[.!?]?$/u)
    const text = fc.array(fc.tuple(sentence, fc.constantFrom(' ', '\n', '\n\n', '\n \n')), { maxLength: 60 })
    fc.assert(
      fc.property(text, fc.integer({ min: 20, max: 200 }), (pieces, limit) => {
        const whole = pieces.flat().join('')
        const passages = splitPassages(whole, limit)
        expect(passages.join('').replaceAll(/\s/g, '')).toBe(whole.replaceAll(/\s/g, ''))
        for (const passage of passages) {
          expect(passage.length).toBeLessThanOrEqual(limit)
          expect(passage.isWellFormed()).toBe(true)
        }
      }),
    )
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), (any) => {
        for (const passage of splitPassages(any)) expect(passage.length).toBeLessThanOrEqual(800)
      }),
    )
  })

  it('MEM-1 splits between paragraphs first, then between sentences', () => {
    expect(splitPassages('One two.\n\nThree four.', 15)).toEqual(['One two.', 'Three four.'])
    expect(splitPassages('Dr. Who came. He went.', 15)).toEqual(['Dr. Who came.', 'He went.'])
    expect(splitPassages(' \n\n ', 15)).toEqual([])
  })
})
