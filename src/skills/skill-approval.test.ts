import { describe, expect, it } from 'vitest'
import { ownersWord, whyOff } from './skill-approval.ts'

const skillOf = (origin: 'workspace' | 'imported' | 'directory', instructions = 'a', files = 'b') => ({
  name: 'pdf',
  origin,
  fingerprint: { instructions, files },
})

describe('the owner’s word for a skill', () => {
  it('SKILL-1 is not needed for what lies in the workspace, changed or not, unless it was switched off', () => {
    expect(whyOff(skillOf('workspace'), undefined)).toBeUndefined()
    const on = ownersWord(skillOf('workspace'))
    expect(whyOff(skillOf('workspace', 'other'), on)).toBeUndefined()
    expect(whyOff(skillOf('workspace'), { isEnabled: false, fingerprint: null })).toMatch(/^Switched off/)
  })

  it.each(['imported', 'directory'] as const)(
    'SEC-14 is needed for what is %s, and again for every change',
    (origin) => {
      expect(whyOff(skillOf(origin), undefined)).toMatch(/not approved yet/)
      const word = ownersWord(skillOf(origin))
      expect(whyOff(skillOf(origin), word)).toBeUndefined()
      expect(whyOff(skillOf(origin, 'other'), word)).toMatch(/\(what it says\)/)
      expect(whyOff(skillOf(origin, 'a', 'other'), word)).toMatch(/\(its files\)/)
      expect(whyOff(skillOf(origin), { ...word, isEnabled: false })).toMatch(/^Switched off/)
      expect(whyOff(skillOf(origin), { isEnabled: true, fingerprint: 'nonsense' })).toMatch(/not approved yet/)
    },
  )

  it('SEC-14 given for a skill of the workspace does not pass on to a foreign one of its name', () => {
    const word = ownersWord(skillOf('workspace'))
    expect(whyOff(skillOf('directory'), word)).toMatch(/not approved yet/)
  })
})
