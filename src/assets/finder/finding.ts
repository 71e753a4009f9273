export interface Found {
  /** A file's path from its root, or a block's label. */
  name: string
  /** What names it in a message. */
  reference: string
}

export interface Finding {
  /** The best first. */
  found: Found[]
  /** How many match. */
  total: number
  /** Not everything has been looked at yet: who asks again may be told more. */
  isIndexing: boolean
  /** There is more than can be searched. */
  isCut: boolean
}
