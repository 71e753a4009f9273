import type { LanguageModel } from './model.ts'

export const purposes = ['primary', 'fast', 'builder', 'vision', 'compaction', 'subagent'] as const
export type Purpose = (typeof purposes)[number]

/**
 * Which model serves what. The first of the list is tried first, the rest are its fallbacks, in order; never empty:
 * with nothing configured it holds the offline model.
 */
export interface Models {
  route(purpose: Purpose, source?: string): readonly LanguageModel[]
  /** By `provider/name`; undefined where no such model is configured. */
  byId(id: string): LanguageModel | undefined
  list(): readonly LanguageModel[]
}
