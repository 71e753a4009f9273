/**
 * Why a file is not indexed. `ignored`: hidden, or a folder of installed packages; `link`: what a symlink leads to is
 * indexed where it lies; `being_written`: it did not come to rest.
 */
export type SkipReason =
  | 'binary'
  | 'too_large'
  | 'too_many'
  | 'unreadable'
  | 'being_written'
  | 'not_text'
  | 'ignored'
  | 'link'

export interface SkippedFiles {
  counts: Partial<Record<SkipReason, number>>
  /** Those that a person may wonder about, the first of them. */
  examples: { path: string; reason: SkipReason; message: string }[]
}

const mostExamples = 50
const expected: ReadonlySet<SkipReason> = new Set(['not_text', 'ignored', 'link'])

export function addSkipped(skipped: SkippedFiles, path: string, reason: SkipReason, message: string = reason): void {
  skipped.counts[reason] = (skipped.counts[reason] ?? 0) + 1
  if (expected.has(reason) || skipped.examples.length >= mostExamples) return
  skipped.examples.push({ path, reason, message })
}
