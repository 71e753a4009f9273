/** Agents whose workspace can be brought in. */
export type ImportKind = 'openclaw' | 'hermes'

/**
 * What becomes of a file. `starter`: in place of the untouched one that a new home begins with, which is nobody's.
 * `beside`: there is one already, so it lies beside it under another name. `same`: it is there already, word for word.
 */
export type ImportWay = 'new' | 'starter' | 'beside' | 'same'

export interface PlannedFile {
  /** The whole path that it comes from. */
  from: string
  /** Inside the workspace, before a conflict is seen. */
  wanted: string
  /** Inside the workspace. */
  to: string
  way: ImportWay
  text: string
  notes: readonly string[]
}

export interface PlannedSkill {
  name: string
  from: string
  /** Inside the workspace. */
  to: string
  /** Of everything in it: what was looked at is what is copied. */
  hash: string
  files: number
}

/** What is not brought in, and why. */
export interface LeftOut {
  path: string
  reason: string
}

/** Everything that an import would do. Nothing is written before somebody has seen it (IMPORT-1). */
export interface ImportPlan {
  kind: ImportKind
  from: string
  files: readonly PlannedFile[]
  skills: readonly PlannedSkill[]
  leftOut: readonly LeftOut[]
}

export type Planning = { ok: true; plan: ImportPlan } | { ok: false; problem: string }
