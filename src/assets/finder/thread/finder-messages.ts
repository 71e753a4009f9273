import type { FoundPaths } from '../fuzzy/search-paths.ts'

export interface FinderThreadData {
  root: string
  /** Folders of which nothing is shown, also where they lie below the root. */
  closed: readonly string[]
  mostFiles: number
}

/** `find` answers from what is known; `refresh` when all that lies on the disk now is known. */
export type FinderQuestion = { kind: 'find'; query: string; limit: number } | { kind: 'refresh' }
export type FinderRequest = { id: number } & FinderQuestion

export interface FinderAnswer extends FoundFiles {
  id: number
}

/** Paths are from the root. */
export interface FoundFiles extends FoundPaths {
  /** Not everything has been looked at yet: who asks again may be told more. */
  isIndexing: boolean
  /** There are more files than are kept. */
  isCut: boolean
}
