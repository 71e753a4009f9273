/** What a SKILL.md says. */
export interface Skill {
  name: string
  /** What it is for and when; one line. */
  description: string
  /** What the model reads when it is loaded. */
  instructions: string
  /** Its instructions are wanted in every prompt. */
  isAlways: boolean
  license: string | null
  compatibility: string | null
  /** Where it was read more kindly than the format asks for. */
  notes: readonly string[]
}

/** Where it lies. What is the user's own stands in the workspace; anything else is somebody's until the owner's word. */
export type SkillOrigin = 'workspace' | 'imported' | 'directory'
