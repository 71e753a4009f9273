import { readPages } from './read-pages.ts'
import { createRowChecksum } from './row-checksum.ts'
import type { TablePlan, TransferEnd } from './table-plan.ts'

export interface TableChecksum {
  name: string
  rows: number
  checksum: string
}

/** Reads every row there is. `onRows` is told how many more were read. */
export async function readChecksums(
  end: TransferEnd,
  tables: readonly TablePlan[],
  { onRows, signal }: { onRows: (table: string, rows: number) => void; signal: AbortSignal },
): Promise<TableChecksum[]> {
  const checksums: TableChecksum[] = []
  for (const table of tables) {
    const checksum = createRowChecksum(table.columns)
    for await (const page of readPages(end, table)) {
      signal.throwIfAborted()
      for (const row of page.rows) checksum.add(row)
      onRows(table.name, page.rows.length)
    }
    checksums.push({ name: table.name, rows: checksum.rows, checksum: checksum.digest() })
  }
  return checksums
}

/** The names of those that are not the same. */
export function differences(expected: readonly TableChecksum[], found: readonly TableChecksum[]): string[] {
  const byName = new Map(found.map((table) => [table.name, table]))
  return expected
    .filter(({ name, rows, checksum }) => {
      const other = byName.get(name)
      return other?.rows !== rows || other.checksum !== checksum
    })
    .map(({ name }) => name)
}
