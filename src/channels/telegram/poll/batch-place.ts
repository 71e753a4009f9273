/**
 * How far a batch of updates is dealt with, while the chats in it are worked through side by side. The place may only move
 * past what is committed; the numbers of a batch need not come in order.
 */
export interface BatchPlace {
  /** Where the stream goes on if this one is committed, too: behind all that are done without a gap. */
  placeWith(updateId: number): number
  /** It is committed. */
  settle(updateId: number): void
  /** Behind the whole batch. */
  end: number
}

export function createBatchPlace(updateIds: readonly number[]): BatchPlace {
  const open = new Set(updateIds)
  const inOrder = [...open].sort((one, other) => one - other)
  const end = (inOrder.at(-1) ?? -1) + 1
  return {
    placeWith: (updateId) => inOrder.find((id) => id !== updateId && open.has(id)) ?? end,
    settle: (updateId) => void open.delete(updateId),
    end,
  }
}
