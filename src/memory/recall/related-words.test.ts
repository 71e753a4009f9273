import { expect, it } from 'vitest'
import { relatedWords } from './related-words.ts'

it('MEM-3 what is asked of one thing is looked for in its group', () => {
  expect(relatedWords(['eat', 'shrimp'])).toEqual(expect.arrayContaining(['shellfish', 'allergic', 'intolerant']))
  expect(relatedWords(['prawns'])).toContain('shellfish')
  expect(relatedWords(['anchovies'])).toContain('fish')
  expect(relatedWords(['bacon'])).toEqual(expect.arrayContaining(['vegetarian', 'kosher']))
})

it('MEM-3 any other question stays as it is', () => {
  expect(relatedWords(['kitchen', 'green', 'eat', ''])).toEqual([])
  expect(relatedWords([])).toEqual([])
})
