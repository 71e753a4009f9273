import { expect, it } from 'vitest'
import { wordForms } from './question.ts'

it.each([
  ['allergies', ['allergies', 'allergic']],
  ['allergy', ['allergy', 'allergic']],
  ['allergic', ['allergic', 'allergy']],
  ['tea', ['tea']],
  ['birthdays', ['birthdays']],
])('gives %s its sibling, which the stemmer misses', (word, forms) => {
  expect(wordForms(word)).toEqual(forms)
})
