import { z } from 'zod'
import { canonicalJson, parseJson } from '../base/json.ts'
import type { SkillOrigin } from './skill.ts'

/** A hash of each part that the owner's word was given for. */
const fingerprintSchema = z.object({ instructions: z.string(), files: z.string() })
export type SkillFingerprint = z.infer<typeof fingerprintSchema>

/** What the owner has decided about a skill. */
export interface SkillState {
  isEnabled: boolean
  /** What it was when the owner's word was given; null where it was not. */
  fingerprint: string | null
}

interface JudgedSkill {
  name: string
  origin: SkillOrigin
  fingerprint: SkillFingerprint
}

/**
 * Why a skill is off; undefined where it is on. What lies in the workspace is the user's own, and so is every change of it.
 * What came from elsewhere is nobody's word until the owner has given theirs for exactly this state of it (SEC-14).
 */
export function whyOff({ name, origin, fingerprint }: JudgedSkill, state: SkillState | undefined): string | undefined {
  const enable = `familiar skills enable ${name}`
  const off = `Switched off. To switch it on: ${enable}`
  if (origin === 'workspace') return state?.isEnabled === false ? off : undefined
  const approved = readFingerprint(state?.fingerprint)
  if (!approved) return `From elsewhere, and not approved yet. To approve it: ${enable}`
  const changes = changesSince(approved, fingerprint)
  if (changes.length > 0) return `Changed since it was approved (${changes.join(', ')}). To approve it again: ${enable}`
  return state?.isEnabled ? undefined : off
}

/** The owner's word for the skill as it is now. */
export function ownersWord({ origin, fingerprint }: JudgedSkill): SkillState {
  return { isEnabled: true, fingerprint: origin === 'workspace' ? null : canonicalJson(fingerprint) }
}

function changesSince(approved: SkillFingerprint, now: SkillFingerprint): string[] {
  return [
    ...(approved.instructions === now.instructions ? [] : ['what it says']),
    ...(approved.files === now.files ? [] : ['its files']),
  ]
}

function readFingerprint(text: string | null | undefined): SkillFingerprint | undefined {
  const parsed = text ? parseJson(text, fingerprintSchema) : undefined
  return parsed?.ok ? parsed.value : undefined
}
