import type { Json } from '../../../src/protocol/messages.ts'

export type Update = { update_id: number } & Record<string, Json>

/** The waiting updates, as Telegram keeps them: confirmed by a later offset, numbered consecutively. */
export function createUpdateQueue(firstId = 1_000) {
  let next = firstId
  let waiting: Update[] = []
  const confirmed: Update[] = []
  /** Comes with the next answer whatever the place is. */
  let forced: Update[] = []
  let reorder: ((updates: Update[]) => Update[]) | undefined

  return {
    push(content: Record<string, Json>): Update {
      const update = { ...content, update_id: next }
      next += 1
      waiting.push(update)
      return update
    },
    take({ offset, limit }: { offset: number; limit: number }): Update[] {
      if (offset < 0) waiting = waiting.slice(offset)
      // As Telegram's own server has it: a place far ahead is none, and the answer begins with the oldest.
      if (offset <= next + 10) {
        confirmed.push(...waiting.filter(({ update_id }) => update_id < offset))
        waiting = waiting.filter(({ update_id }) => update_id >= offset)
      }
      const batch = [...forced.splice(0), ...waiting].slice(0, limit)
      return reorder ? reorder(batch) : batch
    },
    replay(count?: number): void {
      forced = [...forced, ...(count === undefined ? confirmed : confirmed.slice(-count))]
    },
    reorderBy(order: ((updates: Update[]) => Update[]) | undefined): void {
      reorder = order
    },
    renumber(from: number): void {
      next = from
      for (const update of waiting) {
        update.update_id = next
        next += 1
      }
    },
    waiting: () => waiting.length,
    confirmed: (): readonly Update[] => confirmed,
  }
}
