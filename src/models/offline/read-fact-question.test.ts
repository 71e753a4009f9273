import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readFactQuestion } from './notes.ts'

describe('readFactQuestion', () => {
  it.each([
    ["When is Anna's birthday?", 'Anna', 'birthday', false],
    ['when is my sister’s birthday', 'my sister', 'birthday', false],
    ['What is my address?', 'user', 'address', false],
    ["What's my wife's name?", 'user', 'wife', false],
    ['What is my dog called?', 'user', 'dog', false],
    ['What is the phone number of Tom Berg?', 'Tom Berg', 'phone number', false],
    ["What is my parents' address?", 'my parents', 'address', false],
    ['Where do I live?', 'user', 'lives in', false],
    ['Where does my brother work?', 'my brother', 'works at', false],
    ['How old is Anna?', 'Anna', 'age', false],
    ['What am I allergic to?', 'user', 'allergic to', false],
    ['Which languages does Eva speak?', 'Eva', 'speaks', false],
    ['What was my address before?', 'user', 'address', true],
    ['What was my old job?', 'user', 'occupation', true],
    ['Where did I live before?', 'user', 'lives in', true],
    ['What was my address in May?', 'user', 'address', false],
    ['What is my favorite color?', 'user', 'favourite colour', false],
  ])('MEM-10 “%s” asks for a fact', (words, about, attribute, history) => {
    const question = readFactQuestion(words)
    expect(question).toMatchObject({ about, history })
    expect(question?.attributes).toContain(attribute)
  })

  it.each([
    'What is the capital of France, and why?',
    'What did we decide about the kitchen?',
    'Who is Anna?',
    'What is this?',
    'How are you?',
    'What is',
    'my name is Max',
    '',
  ])('MEM-10 “%s” is left to the word search', (words) => {
    expect(readFactQuestion(words)).toBeUndefined()
  })

  it('MEM-10 reads any question quickly', () => {
    fc.assert(
      fc.property(fc.constantFrom('', 'What is ', 'Where does ', "When is X's "), fc.string(), (opening, text) => {
        readFactQuestion(opening + text)
      }),
    )
    expect(readFactQuestion(`What is ${"a's ".repeat(100_000)}`)).toBeUndefined()
  })
})
