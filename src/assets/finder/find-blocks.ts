import type { Finding } from './finding.ts'
import { createPathStore } from './fuzzy/path-store.ts'
import { createPathSearch } from './fuzzy/search-paths.ts'
import { referenceTo } from './reference-to.ts'

/** Those of these labels that match, as files are found. There are never so many that one would keep them. */
export function findBlocks(labels: readonly string[], { query, limit }: { query: string; limit: number }): Finding {
  const store = createPathStore()
  for (const label of labels) store.add(label)
  const { matches, total } = createPathSearch(store).search(query, limit)
  const found = matches.map(({ path }) => ({ name: path, reference: referenceTo('block', path) }))
  return { found, total, isIndexing: false, isCut: false }
}
