import { expect, it } from 'vitest'
import { relatedWords } from './question.ts'

it('MEM-3 a question about one thing also searches its group', () => {
  expect(relatedWords(['eat', 'shrimp'])).toEqual(expect.arrayContaining(['shellfish', 'allergic', 'intolerant']))
  expect(relatedWords(['prawns'])).toContain('shellfish')
  expect(relatedWords(['anchovies'])).toContain('fish')
  expect(relatedWords(['bacon'])).toEqual(expect.arrayContaining(['vegetarian', 'kosher']))
})

it('MEM-3 other questions are not extended', () => {
  expect(relatedWords(['kitchen', 'green', 'eat', ''])).toEqual([])
  expect(relatedWords([])).toEqual([])
})
