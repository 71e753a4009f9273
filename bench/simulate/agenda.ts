/** A heap by time: the next thing that happens in a simulated world. */
export interface Agenda<Item> {
  add(at: number, item: Item): void
  /** The earliest; those of the same time come in any order. */
  next(): { at: number; item: Item } | undefined
}

export function createAgenda<Item>(): Agenda<Item> {
  const heap: { at: number; item: Item }[] = []
  const at = (index: number) => heap[index]?.at ?? Number.POSITIVE_INFINITY
  const swap = (a: number, b: number) => {
    const kept = heap[a] as (typeof heap)[number]
    heap[a] = heap[b] as (typeof heap)[number]
    heap[b] = kept
  }
  return {
    add(time, item) {
      heap.push({ at: time, item })
      for (let child = heap.length - 1; child > 0; ) {
        const parent = (child - 1) >> 1
        if (at(parent) <= at(child)) break
        swap(parent, child)
        child = parent
      }
    },
    next() {
      const first = heap[0]
      const last = heap.pop()
      if (!first || !last) return undefined
      if (heap.length === 0) return first
      heap[0] = last
      for (let parent = 0; ; ) {
        const left = 2 * parent + 1
        const least = at(left + 1) < at(left) ? left + 1 : left
        if (at(least) >= at(parent)) break
        swap(parent, least)
        parent = least
      }
      return first
    },
  }
}
