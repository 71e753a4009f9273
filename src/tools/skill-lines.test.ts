import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { estimateTokens } from '../base/tokens.ts'
import { skillLines } from './skills.ts'

const many = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    name: `skill-${String(at).padStart(3, '0')}`,
    description: `Does the ${at}th thing that somebody may want, with care and in many words. `.repeat(4),
  }))

describe('skillLines', () => {
  it('SKILL-1 describes each in one line, with the same bytes whatever their order', () => {
    const skills = [
      { name: 'pdf', description: 'Fills forms.' },
      { name: 'docx', description: 'Writes letters.' },
    ]
    const text = skillLines(skills)
    expect(text?.split('\n').slice(1)).toEqual(['- docx: Writes letters.', '- pdf: Fills forms.'])
    expect(skillLines(skills.toReversed())).toBe(text)
    expect(skillLines([])).toBeUndefined()
  })

  it('SKILL-1 stays within its budget: first shorter lines, then a count of the rest', () => {
    const some = skillLines(many(12)) ?? ''
    expect(some.split('\n')).toHaveLength(13)
    expect(skillLines(many(300))).toMatch(/\n- and \d+ more; load_skill searches them\.$/)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 60, max: 900 }), (count, budget) => {
        expect(estimateTokens(skillLines(many(count), budget) ?? '')).toBeLessThanOrEqual(budget)
      }),
      { numRuns: 30 },
    )
  })
})
