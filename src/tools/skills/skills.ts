import type { SystemBlock } from '../../models/model.ts'
import type { SkillOrigin } from '../../skills/skill.ts'
import type { Tool } from '../tool.ts'

/** One line of the list. */
export interface SkillSummary {
  name: string
  description: string
  origin: SkillOrigin
  status: 'on' | 'off' | 'error'
  /** With `off` and `error`: why, and what to do. */
  problem: string | null
  isAlways: boolean
}

export interface SkillDetails extends SkillSummary {
  directory: string
  license: string | null
  compatibility: string | null
  /** Empty where it could not be read. */
  instructions: string
  files: readonly { path: string; bytes: number }[]
  notes: readonly string[]
  /** Of everything in its folder; empty where it could not be read. */
  hash: string
}

/** Skills of this home, for all its users (SKILL-1). Whatever has no such name is undefined or `not_found`. */
export interface Skills {
  /** Finds them, and follows their folders from then on. Again: looks once more, also at what was decided meanwhile. */
  reload(): Promise<void>
  /** In order of name; one that is broken too, with its reason. */
  list(): SkillSummary[]
  show(name: string): SkillDetails | undefined
  /** The owner's word for it as it is now. With the hash of what they have seen: only where it is still that. */
  enable(name: string, seenHash?: string): Promise<void>
  disable(name: string): Promise<void>
  /** The index of those that are on, for the prompt; undefined where there is none. The same skills give the same bytes. */
  lines(): string | undefined
  /** Those whose instructions are wanted in every prompt, as far as they fit. */
  alwaysOn(): SystemBlock[]
  /** For the registry, once. */
  tools: readonly Tool[]
  /** Calls after every change of what there is, until the returned function is called. */
  onChange(listener: () => void): () => void
  settled(): Promise<void>
  /** Before the sandbox and the database. */
  close(): Promise<void>
}
