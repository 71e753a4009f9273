import type { Figures } from './ask-all.ts'
import type { RecallScaleReport } from './measure-recall-scale.ts'

/** A row for each size, for `console.table`. */
export function sizeTable({ sizes }: RecallScaleReport): Record<string, string | number | null>[] {
  return sizes.map(({ memories, plainText, vectors, recall, ...others }) => ({
    memories,
    'FTS5-OR': inShort(plainText),
    vectors: inShort(vectors),
    recall: inShort(recall),
    ...others,
  }))
}

function inShort({ p50Ms, p95Ms, hits }: Figures): string {
  return `p50 ${p50Ms} p95 ${p95Ms} ms, hits ${Math.round(hits * 100)}%`
}
