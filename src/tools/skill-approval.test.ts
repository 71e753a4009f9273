import { describe, expect, it } from 'vitest'
import { approvedSkill, whySkillOff } from './skills.ts'

const skillOf = (origin: 'workspace' | 'imported' | 'directory', instructions = 'a', files = 'b') => ({
  name: 'pdf',
  origin,
  fingerprint: { instructions, files },
})

describe('the owner’s approval of a skill', () => {
  it('SKILL-1 is not needed in the workspace, changed or not, unless it was switched off', () => {
    expect(whySkillOff(skillOf('workspace'), undefined)).toBeUndefined()
    const on = approvedSkill(skillOf('workspace'))
    expect(whySkillOff(skillOf('workspace', 'other'), on)).toBeUndefined()
    expect(whySkillOff(skillOf('workspace'), { isEnabled: false, fingerprint: null })).toMatch(/^Off\. To enable it/)
  })

  it.each(['imported', 'directory'] as const)(
    'SEC-14 is needed for %s skills, and again for every change',
    (origin) => {
      expect(whySkillOff(skillOf(origin), undefined)).toMatch(/not approved yet/)
      const word = approvedSkill(skillOf(origin))
      expect(whySkillOff(skillOf(origin), word)).toBeUndefined()
      expect(whySkillOff(skillOf(origin, 'other'), word)).toMatch(/\(what it says\)/)
      expect(whySkillOff(skillOf(origin, 'a', 'other'), word)).toMatch(/\(its files\)/)
      expect(whySkillOff(skillOf(origin), { ...word, isEnabled: false })).toMatch(/^Off\. To enable it/)
      expect(whySkillOff(skillOf(origin), { isEnabled: true, fingerprint: 'nonsense' })).toMatch(/not approved yet/)
    },
  )

  it('SEC-14 of a workspace skill does not apply to an outside one of its name', () => {
    const word = approvedSkill(skillOf('workspace'))
    expect(whySkillOff(skillOf('directory'), word)).toMatch(/not approved yet/)
  })
})
