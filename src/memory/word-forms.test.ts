import { expect, it } from 'vitest'
import { wordForms } from './word-forms.ts'

it.each([
  ['allergies', ['allergies', 'allergic']],
  ['allergy', ['allergy', 'allergic']],
  ['allergic', ['allergic', 'allergy']],
  ['tea', ['tea']],
  ['birthdays', ['birthdays']],
])('gives %s its sibling, where the stemmer misses it', (word, forms) => {
  expect(wordForms(word)).toEqual(forms)
})
