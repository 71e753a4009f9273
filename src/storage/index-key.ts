import { sha256 } from '../base/hash.ts'

// In UTF-8. PostgreSQL indexes at most 2,704 bytes an entry: two such keys stand in one, beside ids.
const longestKeyBytes = 1_000
const beginning = 200

/**
 * What a text may have that is indexed as it is, with nothing but ids beside it: for columns that are shown as well and so
 * can have no key instead.
 */
export const longestIndexedBytes = 2_500

/**
 * A text as an index can hold it: itself where it is short, else its beginning and its hash. Equal texts have equal keys,
 * different ones different keys. For columns to compare by, never for what is shown. Rows are stored by it: a change here
 * needs a migration.
 */
export function toIndexKey(text: string): string {
  return isIndexKey(text) ? text : `${text.slice(0, beginning).toWellFormed()}~${sha256(text)}`
}

/** As it is. */
export function isIndexKey(text: string): boolean {
  return Buffer.byteLength(text) <= longestKeyBytes
}

export function fitsIndex(text: string): boolean {
  return Buffer.byteLength(text) <= longestIndexedBytes
}
