import type { TransferEnd } from './table-plan.ts'

/** A database of which one state is read and nothing is written, as it was found: it is not migrated. */
export interface TransferSource extends TransferEnd {
  /** Migrations that it has not seen. */
  readonly pending: readonly string[]
  /** It holds no tables at all. */
  readonly isEmpty: boolean
  /** It is what an interrupted move left. */
  readonly isUnfinished: boolean
  close(): Promise<void>
}
