import { createHash } from 'node:crypto'

/** What both engines hand out for a column. */
export type Value = string | number | Uint8Array | null
export type Row = Readonly<Record<string, Value>>

/** Over rows in any order: engines need not sort alike. */
export interface RowChecksum {
  readonly rows: number
  add(row: Row): void
  /** Hexadecimal. */
  digest(): string
}

const modulus = 1n << 256n

/**
 * The sum of the rows' own hashes. Two sets of rows that differ in one value, one row or one column have different sums,
 * but for a chance that will not happen by accident.
 */
export function createRowChecksum(columns: readonly string[]): RowChecksum {
  const names = columns.toSorted()
  let rows = 0
  let sum = 0n
  return {
    get rows() {
      return rows
    },
    add(row) {
      const hash = createHash('sha256')
      for (const name of names) addValue(hash, name, row[name])
      sum = (sum + BigInt(`0x${hash.digest('hex')}`)) % modulus
      rows += 1
    },
    digest: () => sum.toString(16).padStart(64, '0'),
  }
}

/** Its kind, its length and its bytes: no two rows are written alike. */
function addValue(hash: ReturnType<typeof createHash>, name: string, value: Value | undefined): void {
  if (value === null) hash.update(`${name}-;`)
  else if (typeof value === 'number') hash.update(`${name}#${writeNumber(value)};`)
  else if (typeof value === 'string') hash.update(`${name}"${Buffer.byteLength(value)}:`).update(value)
  else if (value instanceof Uint8Array) hash.update(`${name}*${value.length}:`).update(value)
  else throw new TypeError(`A row has ${typeof value} in its column ${name}`)
}

/** As the shortest text that means this very number. SQLite has one zero, so the other one counts as the same. */
function writeNumber(value: number): string {
  return Object.is(value, -0) ? '0' : String(value)
}
