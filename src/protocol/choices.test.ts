import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { askInputSchema, type Choices, choicesIn, chosenLabels, listChoices, readChoices } from './choices.ts'

const choicesOf = (labels: string[], more: Partial<Choices> = {}): Choices => {
  return { options: labels.map((label) => ({ label })), allowText: true, multiple: false, ...more }
}

const colors = choicesOf(['Red', 'Light blue', 'Green'])
const several = { ...colors, multiple: true }

describe('readChoices', () => {
  it.each([
    ...[
      '2',
      ' 2. ',
      '2)',
      '(2)',
      '#2',
      'option 2',
      'number 2',
      '２',
      '٢',
      'Nummer 2',
      'número 2',
      'numéro 2',
      '第2个',
      '2番',
      'رقم ٢',
      'light blue',
      'Light  Blue!',
      '2. Light blue',
    ],
  ])('LOOP-4a %j chooses the second option', (text) => expect(readChoices(text, colors)).toEqual([1]))

  it.each([
    ...['', '0', '4', '22', 'blue', 'the second', '1, 2', '3. Light blue', 'Light blue, but only if it is cheap', '-2'],
  ])('LOOP-4a %j chooses none', (text) => expect(readChoices(text, colors)).toBeUndefined())

  it.each([
    ['1,3', [0, 2]],
    ['3 1', [0, 2]],
    ['1 and 3', [0, 2]],
    ['Red, Light blue', [0, 1]],
    ['green', [2]],
    ['1、2、2', [0, 1]],
  ])('LOOP-4a %j chooses several', (text, places) => expect(readChoices(text, several)).toEqual(places))

  it('LOOP-4a a label that is a number wins over the number of an option', () => {
    expect(readChoices('3', choicesOf(['3', '5', '10']))).toEqual([0])
    expect(readChoices('1, 000', choicesOf(['1, 000', '2'], { multiple: true }))).toEqual([0])
  })

  it('LOOP-4a every label that a model can give chooses its own option, alone and with others', () => {
    const label = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
    const input = fc.record({
      question: fc.constant('Which?'),
      options: fc.array(fc.record({ label }), { minLength: 2, maxLength: 6 }),
    })
    fc.assert(
      fc.property(input, fc.nat(), (given, at) => {
        const parsed = askInputSchema.safeParse(given)
        fc.pre(parsed.success)
        const choices = parsed.success ? choicesIn(parsed.data) : undefined
        if (!choices) throw new Error('it has options')
        const place = at % choices.options.length
        expect(readChoices(chosenLabels(choices, [place]), choices)).toEqual([place])
        expect(
          listChoices(choices)
            .split('\n')
            [place]?.startsWith(`${place + 1}. `),
        ).toBe(true)
      }),
    )
  })

  it('LOOP-4a a press of several options chooses exactly these', () => {
    const places = fc.uniqueArray(fc.nat(2), { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(places, (chosen) => {
        const sorted = chosen.toSorted((a, b) => a - b)
        expect(readChoices(chosenLabels(several, sorted), several)).toEqual(sorted)
      }),
    )
  })
})

it('LOOP-4a options that would be the same answer are refused', () => {
  const ask = (labels: string[]) => ({ question: 'Which?', options: labels.map((label) => ({ label })) })
  expect(askInputSchema.safeParse(ask(['Yes', ' yes.'])).success).toBe(false)
  expect(askInputSchema.safeParse(ask(['Yes'])).success).toBe(false)
  expect(askInputSchema.safeParse(ask(['Yes', 'No'])).success).toBe(true)
})
